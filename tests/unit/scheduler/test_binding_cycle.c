#include "scheduler/binding_cycle.h"

#include "tests/unit/scheduler/fake_cluster.h"

STEADY("a pod is bound once");

/* The number of CPUs that are taken on n1. */
static int64_t taken_cpus(void)
{
	const struct scheduler_view view = schedule_view(world.sched);

	return cache_node(view.cache, "n1")->cpu_milli_requested / 1000;
}

/* Bindings fail, and so do the reads of the pods, with this status, until none
 * comes within two seconds. Returns the number of reads. */
static size_t refuse_to_tell(int status)
{
	size_t reads = 0;

	for (int idle = 0; idle < 2;) {
		const struct kube_request *last =
			world.count > 0 ? world.open[world.count - 1] : NULL;

		idle = last == NULL ? idle + 1 : 0;
		if (last == NULL) {
			fake_clock_move(1000000);
			take_turns();
		} else if (strstr(last->path, "/binding") != NULL) {
			answer_last(500, "");
		} else if (strstr(last->path, "/pods/") != NULL &&
			strcmp(last->call.method, "GET") == 0) {
			answer_last(status, "");
			reads++;
		} else {
			answer_last(201, "{}");
		}
	}
	return reads;
}

static void pods_that_cannot_be_read_do_not_stop_placement(void **state)
{
	(void)state;
	deliver_synced();
	for (int i = 0; i < 64; i++) {
		scoped_free char *name = xasprintf("p%d", i);

		deliver_pod(name, "0", "x");
	}
	deliver_pod("q", "1", "x");
	deliver_node("n1");
	take_turns();
	assert_int_equal(world.bindings, 64);
	assert_int_equal(refuse_to_tell(403), 65 * BINDER_REFUSALS_MAX);
	assert_int_equal(world.bindings, 65);
}

static void an_api_server_in_trouble_is_asked_for_a_minute(void **state)
{
	(void)state;
	deliver_synced();
	deliver_node("n1");
	deliver_pod("p", "1", "x");
	take_turns();
	assert_int_equal(refuse_to_tell(503), BINDER_READS_MAX);
	assert_int_equal(taken_cpus(), 1);
}

/* p takes one CPU of n1 and is perhaps bound there. */
static void lose_sight_of_p(void)
{
	deliver_node("n1");
	deliver_synced();
	deliver_pod("p", "1", "x");
	take_turns();
	assert_true(refuse_to_tell(403) > 0);
	assert_int_equal(world.bindings, 1);
	assert_int_equal(taken_cpus(), 1);
}

static void the_watch_settles_a_binding_of_unknown_outcome(void **state)
{
	const struct scheduler_view view = schedule_view(world.sched);

	(void)state;
	lose_sight_of_p();
	deliver(&world.pods, "p",
		"{'metadata':{'name':'p','uid':'p','namespace':'default'},"
		"'spec':{'schedulerName':'s','nodeName':'n1','containers':[{"
		"'name':'c','resources':{'requests':{'cpu':'1'}}}]},"
		"'status':{'phase':'Pending'}}");
	deliver_node("n2");
	assert_true(is_requested("Successfully assigned default/p to n1"));
	answer_all();
	assert_null(queue_find(view.queue, "p"));
	fake_clock_move(BINDING_HOLD_US);
	deliver_node("n3");
	take_turns();
	assert_int_equal(world.bindings, 1);
	assert_int_equal(taken_cpus(), 1);
}

static void a_deleted_pod_leaves_a_binding_of_unknown_outcome(void **state)
{
	(void)state;
	lose_sight_of_p();
	deliver_deleted(&world.pods, "p");
	assert_int_equal(taken_cpus(), 0);
	fake_clock_move(BINDING_HOLD_US);
	deliver_node("n2");
	take_turns();
	assert_int_equal(world.bindings, 1);
}

static void a_pod_that_no_watch_shows_bound_is_tried_again_in_2_minutes(
	void **state)
{
	(void)state;
	lose_sight_of_p();
	world.is_away = true;
	fake_clock_move(BINDING_HOLD_US);
	deliver_node("n2");
	world.is_away = false;
	fake_clock_move(BINDING_HOLD_US - 1000000);
	deliver_node("n3");
	take_turns();
	assert_int_equal(world.bindings, 1);
	assert_int_equal(taken_cpus(), 1);
	fake_clock_move(2000000);
	deliver_node("n4");
	assert_true(
		is_requested("it is unknown whether the pod is bound to "
			     "n1: no"));
	answer_all();
	fake_clock_move(QUEUE_BACKOFF_US);
	deliver_node("n5");
	take_turns();
	assert_int_equal(world.bindings, 2);
	answer_all();
}

/* ---- reservations ---- */

/* A pod of one CPU of the VM. */
static void deliver_vm_pod(const char *name, const char *annotations,
	const char *spec)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'%s','uid':'%s','namespace':'default',"
		"'labels':{'kubevirt.io':'virt-launcher',"
		"'kubevirt.io/created-by':'vmi'},'annotations':{%s}},'spec':{"
		"'schedulerName':'s'%s,'containers':[{'name':'compute',"
		"'resources':{'requests':{'cpu':'1'}}}]},'status':{'phase':"
		"'Pending'}}",
		name, name, annotations, spec);

	deliver(&world.pods, name, text);
}

/* n1 has a CPU reserved for the VM, whose pod is now to be bound there. */
static void bind_reserved(void)
{
	deliver_node("n1");
	deliver_synced();
	deliver_vm_pod("temp", "'kubevirt.io/ephemeral-provisioning':'true'",
		",'nodeName':'n1'");
	deliver_deleted(&world.pods, "temp");
	assert_int_equal(taken_cpus(), 1);
	deliver_vm_pod("real", "", "");
	take_turns();
	assert_int_equal(world.bindings, 1);
	assert_int_equal(taken_cpus(), 1);
}

static void a_reservation_counts_again_if_the_binding_is_refused(void **state)
{
	(void)state;
	bind_reserved();
	answer_last(422, "");
	assert_int_equal(taken_cpus(), 1);
	answer_all();
	fake_clock_move(QUEUE_BACKOFF_US);
	deliver_node("n2");
	take_turns();
	assert_int_equal(world.bindings, 2);
	assert_int_equal(taken_cpus(), 1);
	answer_all();
	deliver_vm_pod("real", "", ",'nodeName':'n1'");
	assert_int_equal(taken_cpus(), 1);
	deliver_deleted(&world.pods, "real");
	assert_int_equal(taken_cpus(), 0);
}

static void a_reservation_ends_with_the_pod_that_took_its_place(void **state)
{
	(void)state;
	bind_reserved();
	deliver_deleted(&world.pods, "real");
	assert_int_equal(taken_cpus(), 0);
	answer_last(404, "");
	answer_all();
	/* Another pod of the VM brings back no reservation. */
	deliver_vm_pod("next", "", ",'nodeSelector':{'a':'b'}");
	take_turns();
	assert_int_equal(taken_cpus(), 0);
	answer_all();
}

static void a_pod_that_is_gone_ends_its_reservation(void **state)
{
	(void)state;
	bind_reserved();
	answer_last(404, "");
	assert_int_equal(taken_cpus(), 0);
	deliver_vm_pod("next", "", ",'nodeSelector':{'a':'b'}");
	take_turns();
	assert_int_equal(taken_cpus(), 0);
	answer_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCHEDULE_TEST(pods_that_cannot_be_read_do_not_stop_placement),
		SCHEDULE_TEST(an_api_server_in_trouble_is_asked_for_a_minute),
		SCHEDULE_TEST(the_watch_settles_a_binding_of_unknown_outcome),
		SCHEDULE_TEST(
			a_deleted_pod_leaves_a_binding_of_unknown_outcome),
		SCHEDULE_TEST(
			a_pod_that_no_watch_shows_bound_is_tried_again_in_2_minutes),
		SCHEDULE_TEST(
			a_reservation_counts_again_if_the_binding_is_refused),
		SCHEDULE_TEST(
			a_reservation_ends_with_the_pod_that_took_its_place),
		SCHEDULE_TEST(a_pod_that_is_gone_ends_its_reservation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
