#include "scheduler/schedule.h"

#include "scheduler/loads/aggregators.h"
#include "tests/unit/scheduler/fake_cluster.h"
#include "tests/unit/scheduler/given_load.h"

#define HOUR_US UINT64_C(3600000000)

static void binds_a_pod_once_the_caches_are_synced(void **state)
{
	(void)state;
	deliver_node("n1");
	deliver_pod("p", "1", "x");
	take_turns();
	assert_int_equal(world.bindings, 0);
	deliver_synced();
	take_turns();
	assert_int_equal(world.bindings, 1);
	answer_all();
}

static void a_late_watch_event_causes_no_second_binding(void **state)
{
	(void)state;
	deliver_node("n1");
	deliver_node("n2");
	deliver_pod("p", "1", "x");
	deliver_synced();
	take_turns();
	answer_all();
	/* An older version arrives after the binding. */
	deliver_pod("p", "1", "y");
	take_turns();
	assert_int_equal(world.bindings, 1);
}

/* Time passes meanwhile. */
static bool has_all_conditions(void *owner)
{
	(void)owner;
	fake_clock_move(10000);
	return world.conditions >= MANY_PODS;
}

static void reports_unschedulable_pods_above_the_limit_later(void **state)
{
	(void)state;
	deliver_node("n1");
	for (int i = 0; i < MANY_PODS; i++) {
		scoped_free char *name = xasprintf("p%d", i);

		deliver_pod(name, "100", "x");
	}
	deliver_synced();
	take_turns();
	assert_true(world.conditions < MANY_PODS);
	answer_all();
	run_until_true(&world.loop, has_all_conditions, NULL);
	assert_int_equal(world.conditions, MANY_PODS);
}

/* The body of the last request, one for the lease. The caller frees it. */
static char *lease_request(const char *method)
{
	const struct kube_request *last;

	assert_true(world.count > 0);
	last = world.open[world.count - 1];
	assert_non_null(strstr(last->path,
		"/apis/coordination.k8s.io/v1/namespaces/plimsoll/leases"));
	assert_string_equal(last->call.method, method);
	return xstrdup(last->body);
}

/* The lease as the API server returns it. */
static char *stored_lease(const char *sent)
{
	struct json_value *object;
	char *text;

	assert_int_equal(json_value_parse(&object, sent, strlen(sent), NULL),
		0);
	text = xasprintf(
		"{\"metadata\":{\"resourceVersion\":\"1\"},"
		"\"spec\":{\"holderIdentity\":\"%s\"}}",
		json_value_text_at(object, "spec/holderIdentity", "?"));
	json_value_free(object);
	return text;
}

static int setup_election(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.config.scheduler_name = "s";
	world.config.leader_elect = true;
	assert_int_equal(uv_loop_init(&world.loop), 0);
	return schedule_new(&world.sched, &world.loop, NULL, &world.config,
		NULL);
}

static void binds_nothing_before_holding_the_lease(void **state)
{
	scoped_free char *sent = NULL;
	scoped_free char *answer = NULL;

	(void)state;
	deliver_node("n1");
	deliver_pod("p", "1", "x");
	deliver_synced();
	take_turns();
	assert_int_equal(world.bindings, 0);
	free(lease_request("GET"));
	answer_last(404, "");
	take_turns();
	assert_int_equal(world.bindings, 0);
	sent = lease_request("POST");
	answer = stored_lease(sent);
	answer_last(201, answer);
	take_turns();
	assert_int_equal(world.bindings, 1);
	answer_all();
}

static void binds_nothing_while_another_replica_leads(void **state)
{
	scoped_buffer struct buffer why = BUFFER_MAX(1000);

	(void)state;
	deliver_node("n1");
	deliver_pod("p", "1", "x");
	deliver_synced();
	take_turns();
	free(lease_request("GET"));
	answer_last(200,
		"{\"metadata\":{\"resourceVersion\":\"1\"},"
		"\"spec\":{\"holderIdentity\":\"other\"}}");
	take_turns();
	assert_int_equal(world.bindings, 0);
	assert_true(schedule_is_ready(world.sched, &why));
}

static void lead(void)
{
	scoped_free char *sent = NULL;
	scoped_free char *answer = NULL;

	free(lease_request("GET"));
	answer_last(404, "");
	sent = lease_request("POST");
	answer = stored_lease(sent);
	answer_last(201, answer);
}

static void count_call(void *owner)
{
	++*(unsigned *)owner;
}

/* Until then, another replica may be able to decide. */
static void stands_for_election_once_the_caches_are_synced(void **state)
{
	unsigned drained = 0;

	(void)state;
	deliver_node("n1");
	take_turns();
	for (size_t i = 0; i < world.count; i++) {
		assert_null(strstr(world.open[i]->path, "/leases"));
	}
	schedule_drain(world.sched, count_call, &drained);
	take_turns();
	assert_int_equal(drained, 1); /* there is no Lease to release */
}

static void releases_the_lease_when_it_stops(void **state)
{
	scoped_free char *back = NULL;
	unsigned drained = 0;

	(void)state;
	deliver_synced();
	take_turns();
	lead();
	schedule_drain(world.sched, count_call, &drained);
	take_turns();
	assert_int_equal(drained, 0);
	back = lease_request("PUT");
	assert_non_null(strstr(back, "\"holderIdentity\":\"\""));
	answer_last(200, "{}");
	assert_int_equal(drained, 1);
}

/* A VM's pod that another scheduler bound an hour ago, by the API server's
 * clock. */
static void deliver_bound_vm(const char *name)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'%s','uid':'%s','namespace':'default',"
		"'labels':{'kubevirt.io':'virt-launcher'}},'spec':{"
		"'nodeName':'n1','containers':[{'name':'c'}]},'status':{"
		"'phase':'Running','conditions':[{'type':'PodScheduled',"
		"'status':'True','lastTransitionTime':'%.19sZ'}]}}",
		name, name,
		clock_text((char[CLOCK_TEXT_MAX]){ 0 },
			clock_wall_us() - HOUR_US));

	deliver(&world.pods, name, text);
}

static int64_t age_of_newest(const struct scheduler_view *view)
{
	return view->now_us - cache_node(view->cache, "n1")->vms.newest_us;
}

static void a_pod_from_the_watch_was_bound_now(void **state)
{
	const struct scheduler_view view = schedule_view(world.sched);

	(void)state;
	deliver_node("n1");
	deliver_bound_vm("listed");
	assert_true(age_of_newest(&view) > (int64_t)HOUR_US - 2000000);
	deliver_synced();
	deliver_bound_vm("listed");
	assert_true(age_of_newest(&view) > (int64_t)HOUR_US - 2000000);
	deliver_bound_vm("watched");
	assert_true(age_of_newest(&view) <= 0);
}

/* ---- volumes ---- */

#define DISKS "/api/v1/persistentvolumes"
#define CLAIMS "/api/v1/persistentvolumeclaims"

static void deliver_disk(const char *reference)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'v','uid':'v','resourceVersion':'1'},"
		"'spec':{'storageClassName':'late','accessModes':["
		"'ReadWriteOnce'],'capacity':{'storage':'1Gi'}%s},"
		"'status':{'phase':'Available'}}",
		reference);

	deliver_other(DISKS, "v", text);
}

static void deliver_claim(const char *notes, const char *volume)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'c','uid':'c','namespace':'default',"
		"'resourceVersion':'1','annotations':{%s}},'spec':{%s"
		"'storageClassName':'late','accessModes':['ReadWriteOnce'],"
		"'resources':{'requests':{'storage':'1Gi'}}},"
		"'status':{'phase':'Pending'}}",
		notes, volume);

	deliver_other(CLAIMS, "c", text);
}

static void deliver_claim_bound(void)
{
	deliver_claim("'pv.kubernetes.io/bind-completed':'yes'",
		"'volumeName':'v',");
}

#define REFERENCE ",'claimRef':{'namespace':'default','name':'c','uid':'c'}"

/* The caches are synced, and a pod's claim waits for its first consumer. */
static void deliver_pod_with_disk(void)
{
	deliver_node("n1");
	deliver_other("/apis/storage.k8s.io/v1/storageclasses", "late",
		"{'metadata':{'name':'late'},"
		"'provisioner':'kubernetes.io/no-provisioner',"
		"'volumeBindingMode':'WaitForFirstConsumer'}");
	deliver_disk("");
	deliver_claim("", "");
	deliver(&world.pods, "p",
		"{'metadata':{'name':'p','uid':'p','namespace':'default'},"
		"'spec':{'schedulerName':'s','volumes':[{'name':'d',"
		"'persistentVolumeClaim':{'claimName':'c'}}],'containers':[{"
		"'name':'c','resources':{'requests':{'cpu':'1'}}}]},"
		"'status':{'phase':'Pending'}}");
	deliver_synced();
}

/* The last request sets the disk's claim. */
static void assert_disk_requested(void)
{
	assert_true(world.count > 0);
	assert_string_equal(world.open[world.count - 1]->path, DISKS "/v");
}

static void requeues_a_pod_whose_volumes_are_not_bound_in_time(void **state)
{
	const struct scheduler_view view = schedule_view(world.sched);

	(void)state;
	deliver_pod_with_disk();
	take_turns();
	assert_disk_requested();
	answer_last(200, "{}");
	fake_clock_move(599000000);
	deliver_disk(REFERENCE);
	assert_true(cache_is_assumed(view.cache, "p"));
	fake_clock_move(1000000);
	deliver_disk(REFERENCE);
	assert_true(
		is_requested("running PreBind plugin \\\"VolumeBinding\\\": "
			     "binding volumes: context deadline exceeded"));
	assert_int_equal(world.bindings, 0);
	assert_false(cache_is_assumed(view.cache, "p"));
	assert_int_equal(cache_node(view.cache, "n1")->cpu_milli_requested, 0);
	take_turns();
	answer_all();
	take_turns();
	assert_int_equal(world.count, 0);
	/* After its back-off, the pod continues with what is written. */
	fake_clock_move(QUEUE_BACKOFF_US);
	deliver_disk(REFERENCE);
	take_turns();
	assert_true(cache_is_assumed(view.cache, "p"));
	answer_all();
	deliver_claim_bound();
	take_turns();
	assert_int_equal(world.bindings, 1);
	answer_all();
}

static void binds_nothing_if_the_lease_is_lost_before_volumes_are_bound(
	void **state)
{
	const struct scheduler_view view = schedule_view(world.sched);

	(void)state;
	deliver_synced();
	take_turns();
	lead();
	deliver_pod_with_disk();
	take_turns();
	assert_disk_requested();
	/* The lease was not renewed for 10 s. */
	fake_clock_move(10000000);
	answer_last(200, "{}");
	deliver_disk(REFERENCE);
	deliver_claim_bound();
	take_turns();
	assert_int_equal(world.bindings, 0);
	assert_false(cache_is_assumed(view.cache, "p"));
	assert_int_equal(queue_find(view.queue, "p")->state, QUEUED_READY);
}

/* ---- rejections ---- */

static void deliver_failed(const char *name, const char *reason)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'%s','uid':'%s'},'spec':{'nodeName':"
		"'n1'},'status':{'phase':'Failed','reason':'%s'}}",
		name, name, reason);

	deliver(&world.failed, name, text);
}

static double rejection_cost(const struct scheduler_view *view)
{
	return rejections_cost(&cache_node(view->cache, "n1")->rejections,
		view->now_us);
}

static void counts_a_rejection_once_and_marks_the_node(void **state)
{
	const struct scheduler_view view = schedule_view(world.sched);
	const uint64_t *counts = view.metrics->rejections;
	(void)state;

	deliver_node("n1");
	deliver_failed("before", "OutOfcpu");
	deliver_synced();
	assert_int_equal(counts[REJECTION_CPU], 0);
	assert_true(rejection_cost(&view) <= 0);
	deliver_failed("a", "OutOfmemory");
	deliver_failed("a", "OutOfmemory");
	deliver_failed("b", "Evicted");
	assert_int_equal(counts[REJECTION_MEMORY], 1);
	assert_true(rejection_cost(&view) > 0);
	/* A heartbeat of the node does not change that. */
	deliver_node("n1");
	assert_true(rejection_cost(&view) > 0);
}

/* Fills n1, so that p is pending. */
static void fill_node(void)
{
	deliver_node("n1");
	deliver_synced();
	deliver_pod("full", "8", "x");
	take_turns();
	answer_all();
	deliver_pod("p", "1", "x");
	take_turns();
	answer_all();
	assert_int_equal(world.bindings, 1);
	fake_clock_move(QUEUE_BACKOFF_US);
}

static void a_failed_pod_wakes_the_queue_before_its_deletion(void **state)
{
	(void)state;
	fill_node();
	deliver_failed("full", "Evicted");
	take_turns();
	assert_int_equal(world.bindings, 2);
	deliver_deleted(&world.pods, "full");
	take_turns();
	assert_int_equal(world.bindings, 2);
	answer_all();
}

static void a_deleted_pod_wakes_the_queue_before_its_failure(void **state)
{
	(void)state;
	fill_node();
	deliver_deleted(&world.pods, "full");
	take_turns();
	assert_int_equal(world.bindings, 2);
	deliver_failed("full", "Evicted");
	take_turns();
	assert_int_equal(world.bindings, 2);
	answer_all();
}

/* ---- loads ---- */

/* How the scheduler receives the load of a node. */
static struct aggregators_options receiver;

int __real_aggregators_open(struct aggregators *out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err);
int __wrap_aggregators_open(struct aggregators *out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err);
int __wrap_aggregators_open(struct aggregators *out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err)
{
	receiver = *options;
	return __real_aggregators_open(out, loop, options, err);
}

static void deliver_load(enum kvm_state kvm_state)
{
	struct node_load load = given_load(1, 0);
	char name[] = "n1";

	load.name = name;
	load.kvm_state = kvm_state;
	receiver.on_node(receiver.owner, &load, (int64_t)clock_monotonic_us());
}

/* Whether a load of n1 wakes p, which then is tried again in vain. */
static bool wakes_p(enum kvm_state kvm_state)
{
	const struct scheduler_view view = schedule_view(world.sched);
	const struct queued_pod *p = queue_find(view.queue, "p");
	bool is_woken;

	assert_int_equal(p->state, QUEUED_UNSCHEDULABLE);
	deliver_load(kvm_state);
	is_woken = p->state == QUEUED_READY;
	fake_clock_move(QUEUE_BACKOFF_US);
	take_turns();
	answer_all();
	return is_woken;
}

/* But not each report of a node wakes them. */
static void new_load_wakes_unschedulable_pods(void **state)
{
	(void)state;
	fill_node();
	assert_true(wakes_p(KVM_OK)); /* the first load of n1 */
	assert_false(wakes_p(KVM_OK));
	assert_true(wakes_p(KVM_MISSING));
	fake_clock_move(10000000);
	assert_true(wakes_p(KVM_MISSING));
}

/* ---- VMs that failed, and that move ---- */

static void deliver_launcher(const char *name, const char *labels,
	const char *spec, const char *status)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'%s','uid':'%s','namespace':'default',"
		"'labels':{'kubevirt.io':'virt-launcher',"
		"'kubevirt.io/created-by':'vmi'%s},'annotations':{"
		"'kubevirt.io/domain':'v','kubevirt.io/migrationJobName':"
		"'plimsoll-move-1'}},'spec':{'schedulerName':'s'%s,"
		"'containers':[{'name':'compute','resources':{'requests':{"
		"'cpu':'1'}}}]},'status':{%s}}",
		name, name, labels, spec, status);

	deliver(strstr(status, "Failed") != NULL ? &world.failed : &world.pods,
		name, text);
}

static bool has_pod(const struct node *node, const struct pod *pod)
{
	for (size_t i = 0; i < node->pod_count; i++) {
		if (node->pods[i].pod == pod) {
			return true;
		}
	}
	return false;
}

static const char *node_of(const struct scheduler_view *view, const char *uid)
{
	const struct pod *pod = cache_pod(view->cache, uid);

	for (size_t i = 0; i < view->cache->cluster.count; i++) {
		const struct node *node = view->cache->cluster.nodes[i];

		if (has_pod(node, pod)) {
			return node->name;
		}
	}
	return "";
}

static void a_vm_that_failed_on_a_node_starts_on_another(void **state)
{
	const struct scheduler_view view = schedule_view(world.sched);
	(void)state;

	deliver_node("n1");
	deliver_synced();
	deliver_launcher("first", "", ",'nodeName':'n1'", "'phase':'Failed'");
	deliver_node("n2");
	deliver_pod("busy", "7", "x");
	take_turns();
	assert_string_equal(node_of(&view, "busy"), "n1");
	answer_all();
	deliver_deleted(&world.pods, "busy");
	deliver(&world.pods, "busy",
		"{'metadata':{'name':'busy','uid':'busy'},'spec':{'nodeName':"
		"'n2','containers':[{'name':'c','resources':{'requests':{"
		"'cpu':'7'}}}]}}");
	deliver_launcher("second", "", "", "'phase':'Pending'");
	take_turns();
	assert_string_equal(node_of(&view, "second"), "n2");
	answer_all();
	/* The node is last, but not excluded. */
	deliver_launcher("third", "", "", "'phase':'Pending'");
	take_turns();
	assert_string_equal(node_of(&view, "third"), "n1");
	answer_all();
}

/* The annotation alone is no order. */
static void a_migration_that_nobody_ordered_does_not_go_first(void **state)
{
	const struct scheduler_view view = schedule_view(world.sched);
	(void)state;

	deliver_node("n1");
	deliver_synced();
	deliver_launcher("source", "", ",'nodeName':'n1'", "'phase':'Running'");
	deliver_launcher("target", ",'kubevirt.io/migrationJobUID':'u'", "",
		"'phase':'Pending'");
	assert_non_null(queue_find(view.queue, "target"));
	assert_int_equal(view.queue->moves, 0);
}

/* KubeVirt leaves the object in place until the VM ends. */
static void a_source_that_succeeded_counts_no_more(void **state)
{
	const struct scheduler_view view = schedule_view(world.sched);
	(void)state;

	deliver_node("n1");
	deliver_synced();
	deliver_launcher("source", "", ",'nodeName':'n1'", "'phase':'Running'");
	assert_int_equal(cache_node(view.cache, "n1")->cpu_milli_requested,
		1000);
	deliver_launcher("source", "", ",'nodeName':'n1'",
		"'phase':'Succeeded'");
	assert_int_equal(cache_node(view.cache, "n1")->cpu_milli_requested, 0);
	assert_int_equal(cache_node(view.cache, "n1")->vms.count, 0);
	assert_null(cache_pod(view.cache, "source"));
}

/* A VM's pod in a labelled namespace, with a resource claim. */
static void deliver_claiming(const char *name)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'%s','uid':'%s','namespace':'default',"
		"'labels':{'kubevirt.io':'virt-launcher'}},'spec':{"
		"'schedulerName':'default-scheduler','resourceClaims':[{"
		"'name':'gpu'}],'containers':[{'name':'c'}]},"
		"'status':{'phase':'Pending'}}",
		name, name);

	deliver(&world.pods, name, text);
}

static void the_leader_tells_a_new_vm_that_it_is_left_alone(void **state)
{
	(void)state;
	deliver_other("/api/v1/namespaces", "default",
		"{'metadata':{'name':'default','labels':{"
		"'plimsoll.io/schedule':'enabled'}}}");
	deliver_claiming("old");
	deliver_synced();
	assert_false(is_requested("LeftToDefault"));
	deliver_claiming("early"); /* another replica leads */
	assert_false(is_requested("LeftToDefault"));
	take_turns();
	lead();
	deliver_claiming("new");
	assert_true(is_requested("LeftToDefault"));
	assert_true(is_requested(
		"s leaves the pod to default-scheduler: pod has resource "
		"claims, which plimsoll-scheduler does not support"));
	answer_all();
}

#define ELECTION_TEST(name) golden_test(name, setup_election, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCHEDULE_TEST(binds_a_pod_once_the_caches_are_synced),
		SCHEDULE_TEST(a_late_watch_event_causes_no_second_binding),
		SCHEDULE_TEST(reports_unschedulable_pods_above_the_limit_later),
		SCHEDULE_TEST(counts_a_rejection_once_and_marks_the_node),
		SCHEDULE_TEST(a_pod_from_the_watch_was_bound_now),
		SCHEDULE_TEST(a_vm_that_failed_on_a_node_starts_on_another),
		SCHEDULE_TEST(
			a_migration_that_nobody_ordered_does_not_go_first),
		SCHEDULE_TEST(a_source_that_succeeded_counts_no_more),
		SCHEDULE_TEST(a_failed_pod_wakes_the_queue_before_its_deletion),
		SCHEDULE_TEST(a_deleted_pod_wakes_the_queue_before_its_failure),
		SCHEDULE_TEST(new_load_wakes_unschedulable_pods),
		SCHEDULE_TEST(
			requeues_a_pod_whose_volumes_are_not_bound_in_time),
		ELECTION_TEST(
			binds_nothing_if_the_lease_is_lost_before_volumes_are_bound),
		ELECTION_TEST(stands_for_election_once_the_caches_are_synced),
		ELECTION_TEST(binds_nothing_before_holding_the_lease),
		ELECTION_TEST(binds_nothing_while_another_replica_leads),
		ELECTION_TEST(the_leader_tells_a_new_vm_that_it_is_left_alone),
		ELECTION_TEST(releases_the_lease_when_it_stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
