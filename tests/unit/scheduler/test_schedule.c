#include "scheduler/schedule.h"

#include "kube/client.h"
#include "kube/reflector.h"
#include "lib/clock.h"
#include "scheduler/metrics.h"
#include "tests/support/cm.h"
#include "tests/unit/scheduler/given.h"

/* The API server is played here: the watches say what a test wants, and
 * requests stay open until a test answers them. */
struct kube_request {
	struct kube_call call;
	char *path, *body;
};

enum { REQUESTS_MAX = 512, MANY_PODS = 200, OTHERS_MAX = 16 };

#define HOUR_US UINT64_C(3600000000)

struct reflector {
	const char *path;
	struct reflector_handler handler;
};

static struct {
	uv_loop_t loop;
	struct scheduler_config config;
	struct placer *placer;
	struct reflector nodes, pods, failed, others[OTHERS_MAX];
	size_t other_count;
	uint64_t ahead_us; /* of the real monotonic clock */
	bool is_synced;
	struct kube_request *open[REQUESTS_MAX];
	size_t count;
	size_t bindings;   /* that were asked for */
	size_t conditions; /* the same */
	bool has_told_all; /* as many conditions as MANY_PODS */
} world;

/* Time passes as the tests like. */
uint64_t __real_clock_monotonic_us(void);
uint64_t __wrap_clock_monotonic_us(void);

uint64_t __wrap_clock_monotonic_us(void)
{
	return __real_clock_monotonic_us() + world.ahead_us;
}

struct reflector *reflector_new(struct kube_client *client,
	const struct reflector_options *options,
	const struct reflector_handler *handler)
{
	const char *selector =
		options->field_selector == NULL ? "" : options->field_selector;
	bool is_failed = strstr(selector, "phase=Failed") != NULL;
	bool is_pods = strstr(selector, "phase!=Failed") != NULL;
	bool is_nodes = strcmp(options->path, "/api/v1/nodes") == 0;
	struct reflector *r = is_pods ? &world.pods
		: is_failed	      ? &world.failed
		: is_nodes	      ? &world.nodes
				      : &world.others[world.other_count++];

	(void)client;
	assert_true(world.other_count < OTHERS_MAX);
	r->path = options->path;
	r->handler = *handler;
	return r;
}

struct reflector_state reflector_state(const struct reflector *reflector)
{
	(void)reflector;
	return (struct reflector_state){
		.is_synced = world.is_synced,
		.is_watching = true,
		.trouble = "",
	};
}

void reflector_close(struct reflector *reflector)
{
	(void)reflector;
}

struct kube_request *kube_request_send(struct kube_client *client,
	const struct kube_call *call)
{
	struct kube_request *request = xcalloc(1, sizeof(*request));

	(void)client;
	assert_true(world.count < REQUESTS_MAX);
	request->call = *call;
	request->path = xstrdup(call->path);
	request->body = xstrdup(call->body == NULL ? "" : call->body);
	world.open[world.count++] = request;
	if (strstr(call->path, "/binding") != NULL) {
		world.bindings++;
	}
	if (strcmp(call->method, "PATCH") == 0) {
		world.conditions++;
		world.has_told_all = world.conditions == MANY_PODS;
	}
	return request;
}

static void request_free(struct kube_request *request)
{
	free(request->path);
	free(request->body);
	free(request);
}

void kube_request_cancel(struct kube_request *request)
{
	for (size_t i = 0; request != NULL && i < world.count; i++) {
		if (world.open[i] == request) {
			world.open[i] = world.open[--world.count];
			request_free(request);
			return;
		}
	}
}

uv_loop_t *kube_client_loop(const struct kube_client *client)
{
	(void)client;
	return &world.loop;
}

const char *kube_client_namespace(const struct kube_client *client)
{
	(void)client;
	return "plimsoll";
}

/* The newest of what is open is answered. */
static void answer_last(int status, const char *body)
{
	const struct kube_answer answer = { .status = status,
		.body = body,
		.len = strlen(body),
		.error = status < 300 ? "" : "no" };
	struct kube_request *request = world.open[--world.count];
	kube_done on_done = request->call.on_done;
	void *owner = request->call.owner;

	request_free(request);
	on_done(owner, &answer);
}

/* All that is open succeeds. */
static void answer_all(void)
{
	while (world.count > 0) {
		answer_last(201, "{}");
	}
}

/* ---- what the watches say ---- */

static void say(const struct reflector *r, const char *name, const char *text)
{
	const struct reflector_id id = { "default", name, name };
	struct value *object = given_json(text);

	r->handler.on_object(r->handler.owner, &id, object);
	value_free(object);
}

static void say_node(const char *name)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'%s','uid':'%s'},'spec':{},"
		"'status':{'allocatable':{'cpu':'8','memory':'16Gi',"
		"'pods':'500'}}}",
		name, name);

	say(&world.nodes, name, text);
}

static void say_pod(const char *name, const char *cpu, const char *label)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'%s','uid':'%s','namespace':'default',"
		"'labels':{'a':'%s'}},'spec':{'schedulerName':'s',"
		"'containers':[{'name':'c','resources':{'requests':"
		"{'cpu':'%s'}}}]},'status':{'phase':'Pending'}}",
		name, name, label, cpu);

	say(&world.pods, name, text);
}

/* Of a kind that has a watch at this path. */
static void say_other(const char *path, const char *name, const char *text)
{
	for (size_t i = 0; i < world.other_count; i++) {
		if (strcmp(world.others[i].path, path) == 0) {
			say(&world.others[i], name, text);
			return;
		}
	}
	fail_msg("nobody watches %s", path);
}

static void say_synced(void)
{
	world.is_synced = true;
	world.nodes.handler.on_synced(world.nodes.handler.owner);
	world.pods.handler.on_synced(world.pods.handler.owner);
	for (size_t i = 0; i < world.other_count; i++) {
		world.others[i].handler.on_synced(
			world.others[i].handler.owner);
	}
}

/* Timers of no delay fire in the next turn; this is enough of them. */
static void take_turns(void)
{
	for (int i = 0; i < 50; i++) {
		(void)uv_run(&world.loop, UV_RUN_NOWAIT);
	}
}

static int setup(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.config.scheduler_name = "s";
	assert_int_equal(uv_loop_init(&world.loop), 0);
	return placer_new(&world.placer, &world.loop, NULL, &world.config,
		NULL);
}

static int teardown(void **state)
{
	(void)state;
	placer_close(world.placer);
	(void)uv_run(&world.loop, UV_RUN_DEFAULT);
	return uv_loop_close(&world.loop);
}

static void a_pod_is_bound_once_all_is_known(void **state)
{
	(void)state;
	say_node("n1");
	say_pod("p", "1", "x");
	take_turns();
	assert_int_equal(world.bindings, 0);
	say_synced();
	take_turns();
	assert_int_equal(world.bindings, 1);
	answer_all();
}

static void what_the_watch_says_late_binds_nothing_twice(void **state)
{
	(void)state;
	say_node("n1");
	say_node("n2");
	say_pod("p", "1", "x");
	say_synced();
	take_turns();
	answer_all();
	/* Changed before it was bound, heard of after. */
	say_pod("p", "1", "y");
	take_turns();
	assert_int_equal(world.bindings, 1);
}

static void who_could_not_be_told_at_once_is_told_later(void **state)
{
	(void)state;
	say_node("n1");
	for (int i = 0; i < MANY_PODS; i++) {
		scoped_free char *name = xasprintf("p%d", i);

		say_pod(name, "100", "x");
	}
	say_synced();
	take_turns();
	assert_true(world.conditions < MANY_PODS);
	answer_all();
	run_until(&world.loop, &world.has_told_all);
	assert_int_equal(world.conditions, MANY_PODS);
}

/* What was asked last of the lease; its body is the caller's. */
static char *asked(const char *method)
{
	const struct kube_request *last;

	assert_true(world.count > 0);
	last = world.open[world.count - 1];
	assert_non_null(strstr(last->path,
		"/apis/coordination.k8s.io/v1/namespaces/plimsoll/leases"));
	assert_string_equal(last->call.method, method);
	return xstrdup(last->body);
}

/* The lease as the API server keeps what was sent. */
static char *kept(const char *sent)
{
	struct value *object;
	char *text;

	assert_int_equal(value_parse(&object, sent, strlen(sent), NULL), 0);
	text = xasprintf(
		"{\"metadata\":{\"resourceVersion\":\"1\"},"
		"\"spec\":{\"holderIdentity\":\"%s\"}}",
		value_text_at(object, "spec/holderIdentity", "?"));
	value_free(object);
	return text;
}

static int setup_election(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.config.scheduler_name = "s";
	world.config.leader_elect = true;
	assert_int_equal(uv_loop_init(&world.loop), 0);
	return placer_new(&world.placer, &world.loop, NULL, &world.config,
		NULL);
}

static void nothing_is_bound_before_the_lease_is_held(void **state)
{
	scoped_free char *sent = NULL;
	scoped_free char *answer = NULL;

	(void)state;
	say_node("n1");
	say_pod("p", "1", "x");
	say_synced();
	take_turns();
	assert_int_equal(world.bindings, 0);
	free(asked("GET"));
	answer_last(404, "");
	take_turns();
	assert_int_equal(world.bindings, 0);
	sent = asked("POST");
	answer = kept(sent);
	answer_last(201, answer);
	take_turns();
	assert_int_equal(world.bindings, 1);
	answer_all();
}

static void who_finds_another_leader_binds_nothing(void **state)
{
	scoped_buffer struct buffer why = BUFFER_MAX(1000);

	(void)state;
	say_node("n1");
	say_pod("p", "1", "x");
	say_synced();
	take_turns();
	free(asked("GET"));
	answer_last(200,
		"{\"metadata\":{\"resourceVersion\":\"1\"},"
		"\"spec\":{\"holderIdentity\":\"other\"}}");
	take_turns();
	assert_int_equal(world.bindings, 0);
	assert_true(placer_is_ready(world.placer, &why));
}

static void lead(void)
{
	scoped_free char *sent = NULL;
	scoped_free char *answer = NULL;

	free(asked("GET"));
	answer_last(404, "");
	sent = asked("POST");
	answer = kept(sent);
	answer_last(201, answer);
}

static void count_call(void *owner)
{
	++*(unsigned *)owner;
}

static void who_stops_gives_the_lease_back_before_it_ends(void **state)
{
	scoped_free char *back = NULL;
	unsigned drained = 0;

	(void)state;
	take_turns();
	lead();
	placer_drain(world.placer, count_call, &drained);
	take_turns();
	assert_int_equal(drained, 0);
	back = asked("PUT");
	assert_non_null(strstr(back, "\"holderIdentity\":\"\""));
	answer_last(200, "{}");
	assert_int_equal(drained, 1);
}

/* A VM's pod that another scheduler bound; by the API server's clock an hour
 * ago. */
static void say_bound_vm(const char *name)
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

	say(&world.pods, name, text);
}

static int64_t age_of_newest(const struct placer_view *view)
{
	return view->now_us - cache_node(view->cache, "n1")->vms.newest_us;
}

static void what_the_watch_says_is_news_whatever_the_clocks_say(void **state)
{
	const struct placer_view view = placer_view(world.placer);

	(void)state;
	say_node("n1");
	say_bound_vm("listed");
	assert_true(age_of_newest(&view) > (int64_t)HOUR_US - 2000000);
	say_synced();
	say_bound_vm("listed");
	assert_true(age_of_newest(&view) > (int64_t)HOUR_US - 2000000);
	say_bound_vm("watched");
	assert_true(age_of_newest(&view) <= 0);
}

/* ---- volumes ---- */

#define DISKS "/api/v1/persistentvolumes"
#define CLAIMS "/api/v1/persistentvolumeclaims"

static void say_disk(const char *reference)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'v','uid':'v','resourceVersion':'1'},"
		"'spec':{'storageClassName':'late','accessModes':["
		"'ReadWriteOnce'],'capacity':{'storage':'1Gi'}%s},"
		"'status':{'phase':'Available'}}",
		reference);

	say_other(DISKS, "v", text);
}

static void say_claim(const char *notes, const char *volume)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'c','uid':'c','namespace':'default',"
		"'resourceVersion':'1','annotations':{%s}},'spec':{%s"
		"'storageClassName':'late','accessModes':['ReadWriteOnce'],"
		"'resources':{'requests':{'storage':'1Gi'}}},"
		"'status':{'phase':'Pending'}}",
		notes, volume);

	say_other(CLAIMS, "c", text);
}

static void say_claim_bound(void)
{
	say_claim("'pv.kubernetes.io/bind-completed':'yes'",
		"'volumeName':'v',");
}

#define REFERENCE ",'claimRef':{'namespace':'default','name':'c','uid':'c'}"

/* All is known, and a pod's claim waits for its first consumer. */
static void say_pod_with_disk(void)
{
	say_node("n1");
	say_other("/apis/storage.k8s.io/v1/storageclasses", "late",
		"{'metadata':{'name':'late'},"
		"'provisioner':'kubernetes.io/no-provisioner',"
		"'volumeBindingMode':'WaitForFirstConsumer'}");
	say_disk("");
	say_claim("", "");
	say(&world.pods, "p",
		"{'metadata':{'name':'p','uid':'p','namespace':'default'},"
		"'spec':{'schedulerName':'s','volumes':[{'name':'d',"
		"'persistentVolumeClaim':{'claimName':'c'}}],'containers':[{"
		"'name':'c','resources':{'requests':{'cpu':'1'}}}]},"
		"'status':{'phase':'Pending'}}");
	say_synced();
}

/* That the disk gets its claim is what was asked for last. */
static void assert_disk_asked(void)
{
	assert_true(world.count > 0);
	assert_string_equal(world.open[world.count - 1]->path, DISKS "/v");
}

static bool is_asked(const char *part)
{
	for (size_t i = 0; i < world.count; i++) {
		if (strstr(world.open[i]->body, part) != NULL) {
			return true;
		}
	}
	return false;
}

static void volumes_not_bound_in_time_send_the_pod_back(void **state)
{
	const struct placer_view view = placer_view(world.placer);

	(void)state;
	say_pod_with_disk();
	take_turns();
	assert_disk_asked();
	answer_last(200, "{}");
	world.ahead_us += 599000000;
	say_disk(REFERENCE);
	assert_true(cache_is_assumed(view.cache, "p"));
	world.ahead_us += 1000000;
	say_disk(REFERENCE);
	assert_true(
		is_asked("running PreBind plugin \\\"VolumeBinding\\\": "
			 "binding volumes: context deadline exceeded"));
	assert_int_equal(world.bindings, 0);
	assert_false(cache_is_assumed(view.cache, "p"));
	assert_int_equal(cache_node(view.cache, "n1")->cpu_milli_requested, 0);
	answer_all();
	take_turns();
	assert_int_equal(world.count, 0);
	/* Its back-off over, it goes on with what was written. */
	world.ahead_us += QUEUE_BACKOFF_US;
	say_disk(REFERENCE);
	take_turns();
	assert_true(cache_is_assumed(view.cache, "p"));
	answer_all();
	say_claim_bound();
	take_turns();
	assert_int_equal(world.bindings, 1);
	answer_all();
}

static void who_loses_the_lease_before_volumes_are_bound_binds_nothing(
	void **state)
{
	const struct placer_view view = placer_view(world.placer);

	(void)state;
	take_turns();
	lead();
	say_pod_with_disk();
	take_turns();
	assert_disk_asked();
	/* Not renewed in 10 s. */
	world.ahead_us += 10000000;
	answer_last(200, "{}");
	say_disk(REFERENCE);
	say_claim_bound();
	take_turns();
	assert_int_equal(world.bindings, 0);
	assert_false(cache_is_assumed(view.cache, "p"));
	assert_int_equal(queue_find(view.queue, "p")->state, WAITING_READY);
}

/* ---- rejections ---- */

static void say_failed(const char *name, const char *reason)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'%s','uid':'%s'},'spec':{'nodeName':"
		"'n1'},'status':{'phase':'Failed','reason':'%s'}}",
		name, name, reason);

	say(&world.failed, name, text);
}

static void rejections_are_counted_once_and_the_node_is_eased_off(void **state)
{
	const struct placer_view view = placer_view(world.placer);
	const uint64_t *counts = view.metrics->rejections;
	(void)state;

	say_node("n1");
	say_failed("before", "OutOfcpu");
	say_synced();
	assert_int_equal(counts[REJECTION_CPU], 0);
	assert_int_equal(cache_node(view.cache, "n1")->rejected_us, 0);
	say_failed("a", "OutOfmemory");
	say_failed("a", "OutOfmemory");
	say_failed("b", "Evicted");
	assert_int_equal(counts[REJECTION_MEMORY], 1);
	assert_true(cache_node(view.cache, "n1")->rejected_us > 0);
	/* The Node's next heartbeat changes nothing of that. */
	say_node("n1");
	assert_true(cache_node(view.cache, "n1")->rejected_us > 0);
}

#define PLACER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#define ELECTION_TEST(name)                                                    \
	cmocka_unit_test_setup_teardown(name, setup_election, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACER_TEST(a_pod_is_bound_once_all_is_known),
		PLACER_TEST(what_the_watch_says_late_binds_nothing_twice),
		PLACER_TEST(who_could_not_be_told_at_once_is_told_later),
		PLACER_TEST(
			rejections_are_counted_once_and_the_node_is_eased_off),
		PLACER_TEST(
			what_the_watch_says_is_news_whatever_the_clocks_say),
		PLACER_TEST(volumes_not_bound_in_time_send_the_pod_back),
		ELECTION_TEST(
			who_loses_the_lease_before_volumes_are_bound_binds_nothing),
		ELECTION_TEST(nothing_is_bound_before_the_lease_is_held),
		ELECTION_TEST(who_finds_another_leader_binds_nothing),
		ELECTION_TEST(who_stops_gives_the_lease_back_before_it_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
