#include "scheduler/metrics.h"

#include "tests/support/golden.h"
#include "tests/unit/scheduler/given.h"

#include <math.h>

#define SECOND INT64_C(1000000)
#define NOW (1000 * SECOND)

/* One node, with 4 of 16 cores used if has_load, and a pending VM of 4 GiB. */
struct scene {
	struct cache cache;
	struct queue queue;
	struct decision decision;
	struct metrics metrics;
	struct queued_pod *queued;
	struct buffer text;
};

static void scene_init(struct scene *scene, bool has_load, const char *memory)
{
	scoped_free char *node = xasprintf(
		"{'metadata':{'name':'n'},'status':{'allocatable':{'cpu':'16',"
		"'memory':'%s','pods':'9','devices.kubevirt.io/kvm':'9'}}}",
		memory);
	struct json_value *object = given_json(node);
	struct node_load load = given_load(4, 0);
	bool changed;
	struct pod *pod;
	struct error err;

	*scene = (struct scene){ .text = BUFFER_MAX(1 << 20) };
	cache_init(&scene->cache);
	queue_init(&scene->queue);
	assert_int_equal(
		cache_put_node(&scene->cache, &changed, object, NOW, &err), 0);
	json_value_free(object);
	if (has_load) {
		load.name = xstrdup("n");
		cache_put_load(&scene->cache, &changed, &load, NOW - 3 * SECOND,
			NOW);
		node_load_fini(&load);
	}
	pod = given_vm(scene->cache.interner, "a", 2);
	queue_put(&scene->queue, pod, NOW);
	assert_int_equal(queue_next(&scene->queue, &scene->queued, 1, NOW), 1);
}

static void scene_fini(struct scene *scene)
{
	decision_fini(&scene->decision);
	queue_fini(&scene->queue);
	cache_fini(&scene->cache);
	buffer_fini(&scene->text);
}

static void decide_at(struct scene *scene, int64_t at, int64_t took_us)
{
	metrics_begin(&scene->metrics, scene->queued, at, 7000);
	decide(&scene->decision, scene->queued->pod, &scene->cache.cluster,
		&(struct filter_options)FILTER_DEFAULTS, at);
	metrics_decided(&scene->metrics, scene->queued, &scene->decision,
		at + took_us, 7000 + (uint64_t)took_us / 2);
}

/* Fails unless the metrics contain the line. */
static void assert_has_line(struct scene *scene, const char *line)
{
	scoped_free char *wanted = xasprintf("\n%s\n", line);

	buffer_clear(&scene->text);
	metrics_write(&scene->text,
		&(struct scheduler_view){ .cache = &scene->cache,
			.queue = &scene->queue,
			.metrics = &scene->metrics,
			.lease = "l",
			.leads = true,
			.suppressed = { [EVENTS_OF_ALL] = 7 },
			.connected = 1,
			.aggregators = 2,
			.now_us = NOW },
		"p");
	assert_false(scene->text.overflowed);
	given_check(strstr(scene->text.data, wanted) != NULL, line);
}

static void a_bound_pod_counts_from_its_first_attempt(void **state)
{
	struct scene scene;
	(void)state;

	scene_init(&scene, true, "64Gi");
	decide_at(&scene, NOW, 1500);
	metrics_bound(&scene.metrics, scene.queued, BIND_REFUSED, NOW + SECOND);
	decide_at(&scene, NOW + 2 * SECOND, 500);
	metrics_bound(&scene.metrics, scene.queued, BIND_DONE,
		NOW + 2 * SECOND + 3000);
	assert_has_line(&scene,
		"scheduler_schedule_attempts_total{result=\"scheduled\","
		"profile=\"p\"} 1");
	assert_has_line(&scene,
		"scheduler_schedule_attempts_total{result=\"error\","
		"profile=\"p\"} 1");
	assert_has_line(&scene,
		"scheduler_scheduling_attempt_duration_seconds_sum{"
		"result=\"scheduled\",profile=\"p\"} 0.003");
	assert_has_line(&scene,
		"scheduler_scheduling_algorithm_duration_seconds_sum 0.002");
	assert_has_line(&scene,
		"scheduler_pod_scheduling_sli_duration_seconds_sum{"
		"attempts=\"2\"} 2.003");
	assert_has_line(&scene,
		"scheduler_pod_scheduling_attempts_bucket{le=\"1\"} 0");
	assert_has_line(&scene,
		"scheduler_pod_scheduling_attempts_bucket{le=\"2\"} 1");
	assert_has_line(&scene,
		"plimsoll_scheduler_bindings_total{outcome=\"refused\"} 1");
	assert_has_line(&scene, "plimsoll_scheduler_load_age_seconds_count 2");
	assert_has_line(&scene, "plimsoll_scheduler_load_age_seconds_sum 8");
	assert_has_line(&scene, "plimsoll_scheduler_without_load_total 0");
	assert_has_line(&scene,
		"plimsoll_scheduler_events_suppressed_total{limit=\"total\"} "
		"7");
	assert_has_line(&scene, "leader_election_master_status{name=\"l\"} 1");
	assert_golden_metrics("scheduler/metrics.txt", scene.text.data);
	scene_fini(&scene);
}

static void a_decision_counts_by_its_cpu_time(void **state)
{
	static const char *const lines[] = {
		"plimsoll_scheduler_decision_cpu_seconds_bucket{"
		"le=\"0.0025\"} 1",
		"plimsoll_scheduler_decision_cpu_seconds_bucket{"
		"le=\"0.005\"} 2",
		"plimsoll_scheduler_decision_cpu_seconds_sum 0.0075",
		"plimsoll_scheduler_decision_cpu_seconds_count 2",
	};
	struct scene scene;
	(void)state;

	scene_init(&scene, true, "64Gi");
	decide_at(&scene, NOW, 5000);
	decide_at(&scene, NOW, 10000);
	for (size_t i = 0; i < count_of(lines); i++) {
		assert_has_line(&scene, lines[i]);
	}
	scene_fini(&scene);
}

static void bounds_are_those_of_kube_scheduler(void **state)
{
	static const char *const lines[] = {
		"scheduler_scheduling_algorithm_duration_seconds_bucket{"
		"le=\"0.001\"} 0",
		"scheduler_scheduling_algorithm_duration_seconds_bucket{"
		"le=\"0.002\"} 1",
		"scheduler_scheduling_algorithm_duration_seconds_bucket{"
		"le=\"16.384\"} 1",
		"scheduler_pod_scheduling_attempts_bucket{le=\"16\"} 1",
		"scheduler_pod_scheduling_sli_duration_seconds_bucket{"
		"attempts=\"1\",le=\"0.01\"} 1",
		"scheduler_pod_scheduling_sli_duration_seconds_bucket{"
		"attempts=\"1\",le=\"5242.88\"} 1",
	};
	struct scene scene;
	(void)state;

	scene_init(&scene, true, "64Gi");
	decide_at(&scene, NOW, 1500);
	metrics_bound(&scene.metrics, scene.queued, BIND_DONE, NOW + 2000);
	for (size_t i = 0; i < count_of(lines); i++) {
		assert_has_line(&scene, lines[i]);
	}
	scene_fini(&scene);
}

static void an_unschedulable_pod_counts_for_each_plugin(void **state)
{
	struct scene scene;
	(void)state;

	scene_init(&scene, false, "1Gi");
	decide_at(&scene, NOW, 100);
	metrics_unschedulable(&scene.metrics, scene.queued, NOW);
	queue_failed(&scene.queue, scene.queued, true, NOW);
	assert_has_line(&scene,
		"scheduler_schedule_attempts_total{result=\"unschedulable\","
		"profile=\"p\"} 1");
	assert_has_line(&scene,
		"scheduler_pending_pods{queue=\"unschedulable\"} 1");
	assert_has_line(&scene,
		"scheduler_unschedulable_pods{plugin=\"NodeResourcesFit\","
		"profile=\"p\"} 1");
	assert_has_line(&scene,
		"scheduler_unschedulable_pods{plugin=\"NodeAffinity\","
		"profile=\"p\"} 0");
	assert_has_line(&scene,
		"scheduler_queue_incoming_pods_total{queue=\"unschedulable\","
		"event=\"ScheduleAttemptFailure\"} 1");
	queue_wake_all(&scene.queue);
	assert_has_line(&scene, "scheduler_pending_pods{queue=\"backoff\"} 1");
	assert_has_line(&scene,
		"scheduler_queue_incoming_pods_total{queue=\"active\","
		"event=\"ClusterChange\"} 1");
	assert_golden_metrics("scheduler/metrics_pending.txt", scene.text.data);
	scene_fini(&scene);
}

static void an_unsupported_pod_counts_for_its_plugin(void **state)
{
	struct scene scene;
	(void)state;

	scene_init(&scene, false, "64Gi");
	scene.queued->pod->unsupported = xstrdup("no");
	decide_at(&scene, NOW, 100);
	queue_failed(&scene.queue, scene.queued, true, NOW);
	assert_has_line(&scene,
		"scheduler_unschedulable_pods{plugin=\"Unsupported\","
		"profile=\"p\"} 1");
	scene_fini(&scene);
}

static void counts_decisions_without_load(void **state)
{
	struct scene scene;
	(void)state;

	scene_init(&scene, false, "64Gi");
	decide_at(&scene, NOW, 100);
	assert_has_line(&scene, "plimsoll_scheduler_without_load_total 1");
	assert_has_line(&scene, "plimsoll_scheduler_load_age_seconds_count 0");
	assert_has_line(&scene,
		"plimsoll_scheduler_nodes{load=\"not_fresh\"} 1");
	assert_has_line(&scene, "plimsoll_scheduler_aggregators 2");
	scene.metrics.rejections[REJECTION_PODS] = 3;
	assert_has_line(&scene,
		"plimsoll_scheduler_rejected_by_kubelet_total{reason="
		"\"OutOfpods\"} 3");
	scene_fini(&scene);
}

static const char *const move_lines[] = {
	"plimsoll_scheduler_moves_total{state=\"failed\"} 2",
	"plimsoll_scheduler_moves_in_flight 1",
	"plimsoll_scheduler_moves_automatic 1",
	"plimsoll_scheduler_moves_paused 0",
	"plimsoll_scheduler_moves_paused_namespaces 8",
	"plimsoll_scheduler_room_attempts 3",
	"plimsoll_scheduler_room_made_total 4",
	"plimsoll_scheduler_room_lost_total 5",
	"plimsoll_scheduler_room_given_up_total 6",
	"plimsoll_scheduler_room_without_plan_total 7",
	"plimsoll_scheduler_plans_total 8",
	"plimsoll_scheduler_plan_seconds{part=\"copy\"} 0",
	"plimsoll_scheduler_plan_seconds{part=\"search\"} 0.25",
	"plimsoll_scheduler_plan_slice_max_seconds 0.5",
	"plimsoll_scheduler_vms_that_reach_no_other_node 9",
	"plimsoll_scheduler_vms_misplaced 2",
	"plimsoll_scheduler_reach_seconds 0.5",
	"plimsoll_scheduler_reach_slice_max_seconds 0.125",
};

static void moves_are_series_while_the_mover_runs(void **state)
{
	struct scene scene;
	(void)state;

	scene_init(&scene, true, "64Gi");
	metrics_write(&scene.text,
		&(struct scheduler_view){ .cache = &scene.cache,
			.queue = &scene.queue,
			.metrics = &scene.metrics,
			.moves = { .has_moves = true,
				.mover = { .counts = { [MOVE_FAILED] = 2 },
					.paused_namespaces = 8,
					.in_flight = 1,
					.orders = true,
					.round_s = NAN },
				.room = { .attempts = 3,
					.made = 4,
					.lost = 5,
					.given_up = 6,
					.without_plan = 7 },
				.planner = { .jobs = 8,
					.longest_slice_s = 0.5,
					.copy_s = NAN,
					.search_s = 0.25 },
				.reach = { .is_known = true,
					.stranded = 9,
					.misplaced = 2,
					.work_s = 0.5,
					.longest_slice_s = 0.125 } },
			.suppressed = { 11, 12 },
			.connected = 13,
			.aggregators = 14,
			.is_synced = true,
			.aggregator_expiry_s = 15,
			.http_expiry_s = 16,
			.webhook_expiry_s = 17,
			.authority_expiry_s = 26,
			.responses = { { "http", { 0, 0, 18, 19, 20, 21 } },
				{ "webhook", { 0, 0, 22, 23, 24, 25 } } },
			.now_us = NOW },
		"p");
	assert_golden_metrics("scheduler/metrics_moves.txt", scene.text.data);
	for (size_t i = 0; i < sizeof(move_lines) / sizeof(*move_lines); i++) {
		given_check(strstr(scene.text.data, move_lines[i]) != NULL,
			move_lines[i]);
	}
	buffer_clear(&scene.text);
	scene_fini(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bound_pod_counts_from_its_first_attempt),
		cmocka_unit_test(a_decision_counts_by_its_cpu_time),
		cmocka_unit_test(bounds_are_those_of_kube_scheduler),
		cmocka_unit_test(an_unschedulable_pod_counts_for_each_plugin),
		cmocka_unit_test(an_unsupported_pod_counts_for_its_plugin),
		cmocka_unit_test(counts_decisions_without_load),
		cmocka_unit_test(moves_are_series_while_the_mover_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
