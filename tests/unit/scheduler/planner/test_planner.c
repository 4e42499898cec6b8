#include "scheduler/planner/planner.h"

#include "lib/clock.h"
#include "scheduler/cache/cache.h"
#include "scheduler/mover/conflicts.h"
#include "scheduler/rebalance/move_records.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/scheduler/given.h"
#include "tests/unit/scheduler/mover/fake_objects.h"

#include <math.h>
#include <stdatomic.h>
#include <uv.h>

enum { NODES = 12, JOBS = PLANNER_JOBS_MAX + 1 };

#define NOW_US INT64_C(1000000000)
#define WALL_US UINT64_C(1800000000000000)

struct bed {
	uv_loop_t loop;
	struct cache cache;
	struct move_records records;
	struct conflicts conflicts;
	struct planner *planner;
	unsigned order; /* of what happened to the jobs */
	atomic_uint active;
};

struct job {
	struct bed *bed;
	unsigned worked, done; /* times */
	unsigned worked_at;    /* its place in the order */
	bool is_done;
	bool waits; /* works until it is stopped */
	bool is_report, is_asked;
	atomic_bool is_working, was_stopped, changed;
	struct plan_input input; /* as work() saw it */
	char seen[2048];	 /* the VMs */
};

/* ---- the cluster ---- */

static void put_node(struct bed *bed, const char *name, const char *spec)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s'},'spec':{%s},'status':{'allocatable':"
		"{'cpu':'16','memory':'64Gi','pods':'110'}}}",
		name, spec);
	struct json_value *object = given_json(json);
	struct node_load load = given_load(2, 4e9);
	char copy[16];
	bool changed;

	assert_int_equal(
		cache_put_node(&bed->cache, &changed, object, NOW_US, NULL), 0);
	json_value_free(object);
	(void)snprintf(copy, sizeof(copy), "%s", name);
	load.name = copy;
	cache_put_load(&bed->cache, &changed, &load, NOW_US, NOW_US);
}

static struct pod *put_pod(struct bed *bed, const char *name, const char *node,
	const char *scheduler, const char *notes)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'l-%s','namespace':'','uid':'pod-%s',"
		"'labels':{'kubevirt.io':'virt-launcher',"
		"'kubevirt.io/created-by':'vmi-%s'%s},'annotations':{"
		"'kubevirt.io/domain':'%s'}},'spec':{'nodeName':'%s',"
		"'schedulerName':'%s','containers':[{'name':'compute',"
		"'resources':{'requests':{'cpu':'400m','memory':'4Gi'}}}]}}",
		name, name, name, notes, name, node, scheduler);
	struct pod *pod = given_pod(bed->cache.interner, json);

	pod->usage.recent_seconds = 60;
	cache_put_pod(&bed->cache, pod, NOW_US - INT64_C(3600000000));
	return pod;
}

static int setup(void **state)
{
	struct bed *bed = xcalloc(1, sizeof(*bed));

	fake_reset();
	fake_clock_set(NOW_US, WALL_US);
	fake_clock.step_us = 1;
	assert_int_equal(uv_loop_init(&bed->loop), 0);
	cache_init(&bed->cache);
	for (int n = 0; n < NODES; n++) {
		scoped_free char *name = xasprintf("n%d", n);

		put_node(bed, name, "");
	}
	cache_set_complete(&bed->cache);
	bed->planner =
		planner_new(&(struct planner_options){ .loop = &bed->loop,
			.cache = &bed->cache,
			.kubevirt = &fake_kubevirt,
			.records = &bed->records,
			.conflicts = &bed->conflicts,
			.scheduler_name = "ours" });
	*state = bed;
	return 0;
}

static void close_planner(struct bed *bed)
{
	planner_close(take_ptr(bed->planner));
	assert_int_equal(uv_run(&bed->loop, UV_RUN_DEFAULT), 0);
}

static int teardown(void **state)
{
	struct bed *bed = *state;

	close_planner(bed);
	assert_int_equal(uv_loop_close(&bed->loop), 0);
	move_records_fini(&bed->records);
	conflicts_fini(&bed->conflicts);
	cache_fini(&bed->cache);
	free(bed);
	return 0;
}

/* ---- jobs ---- */

static void note_vms(struct job *job, const struct plan_input *input)
{
	size_t len = 0;

	for (size_t i = 0; i < input->vm_count; i++) {
		const struct plan_vm *vm = &input->vms[i];

		len += (size_t)snprintf(job->seen + len,
			sizeof(job->seen) - len, "%s on %s%s %s; ",
			vm->pod->vm_name, input->cluster->nodes[vm->node]->name,
			vm->is_leaving ? " for now" : "",
			vm->why_not == NULL ? "may move" : vm->why_not);
	}
}

static void work(void *owner, struct plan_input *input)
{
	struct job *job = owner;

	assert_int_equal(atomic_fetch_add(&job->bed->active, 1), 0);
	job->worked++;
	job->worked_at = job->bed->order++;
	job->input = *input;
	note_vms(job, input);
	atomic_store(&job->is_working, true);
	while (job->waits && !atomic_load(input->stop)) {
	}
	atomic_store(&job->was_stopped, atomic_load(input->stop));
	(void)atomic_fetch_sub(&job->bed->active, 1);
}

static void done(void *owner, const struct plan_input *input, bool is_done)
{
	struct job *job = owner;

	assert_int_equal(atomic_load(&job->bed->active), 0);
	assert_non_null(input);
	assert_true(!is_done || input->cluster == job->input.cluster);
	job->done++;
	job->is_done = is_done;
}

static bool start(struct bed *bed, struct job *job)
{
	job->bed = bed;
	return planner_start(bed->planner,
		&(struct planner_job){ .work = work,
			.done = done,
			.owner = job,
			.is_report = job->is_report,
			.is_asked = job->is_asked });
}

static void run(struct bed *bed)
{
	(void)uv_run(&bed->loop, UV_RUN_DEFAULT);
}

static void run_job(struct bed *bed, struct job *job)
{
	assert_true(start(bed, job));
	run(bed);
	assert_int_equal(job->done, 1);
	assert_true(job->is_done);
}

static void run_until_working(struct bed *bed, struct job *job)
{
	while (!atomic_load(&job->is_working)) {
		(void)uv_run(&bed->loop, UV_RUN_NOWAIT);
	}
}

/* ---- tests ---- */

static void jobs_run_one_after_the_other_in_order(void **state)
{
	struct bed *bed = *state;
	struct job jobs[4] = { 0 };
	struct planner_stats stats;

	planner_stats(bed->planner, &stats);
	assert_true(isnan(stats.search_s));
	for (unsigned i = 0; i < 4; i++) {
		assert_true(start(bed, &jobs[i]));
		assert_int_equal(jobs[i].done, 0);
	}
	run(bed);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(jobs[i].worked, 1);
		assert_int_equal(jobs[i].worked_at, i);
		assert_int_equal(jobs[i].done, 1);
		assert_true(jobs[i].is_done);
		assert_false(jobs[i].was_stopped);
	}
	planner_stats(bed->planner, &stats);
	assert_int_equal(stats.jobs, 4);
	assert_true(stats.copy_s > 0 && stats.search_s > 0);
}

static void more_jobs_than_may_wait_are_refused(void **state)
{
	struct bed *bed = *state;
	struct job jobs[JOBS] = { 0 };

	for (int i = 0; i < PLANNER_JOBS_MAX; i++) {
		assert_true(start(bed, &jobs[i]));
	}
	assert_false(start(bed, &jobs[PLANNER_JOBS_MAX]));
	run(bed);
	for (int i = 0; i < PLANNER_JOBS_MAX; i++) {
		assert_int_equal(jobs[i].done, 1);
	}
	assert_int_equal(jobs[PLANNER_JOBS_MAX].done, 0);
	run_job(bed, &jobs[PLANNER_JOBS_MAX]);
}

static void reports_go_after_the_other_jobs(void **state)
{
	struct bed *bed = *state;
	struct job jobs[5] = { [1].is_report = true, [2].is_report = true };
	static const unsigned order[5] = { 0, 3, 4, 1, 2 };

	for (int i = 0; i < 5; i++) {
		assert_true(start(bed, &jobs[i]));
	}
	run(bed);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(jobs[i].worked_at, order[i]);
		assert_int_equal(jobs[i].done, 1);
	}
}

static void a_cancelled_job_that_waits_is_over_at_once(void **state)
{
	struct bed *bed = *state;
	struct job jobs[3] = { 0 };

	for (int i = 0; i < 3; i++) {
		assert_true(start(bed, &jobs[i]));
	}
	planner_cancel(bed->planner, &jobs[1]);
	assert_int_equal(jobs[1].done, 1);
	assert_false(jobs[1].is_done);
	planner_cancel(bed->planner, &jobs[1]); /* it has no job */
	run(bed);
	assert_int_equal(jobs[1].done, 1);
	assert_int_equal(jobs[1].worked, 0);
	assert_true(jobs[0].is_done && jobs[2].is_done);
	assert_int_equal(jobs[2].worked_at, 1);
}

static void a_cancelled_search_stops_and_the_next_one_runs_to_its_end(
	void **state)
{
	struct bed *bed = *state;
	struct job jobs[2] = { { .waits = true } };

	assert_true(start(bed, &jobs[0]));
	assert_true(start(bed, &jobs[1]));
	run_until_working(bed, &jobs[0]);
	planner_cancel(bed->planner, &jobs[0]);
	assert_int_equal(jobs[0].done, 0);
	run(bed);
	assert_true(jobs[0].was_stopped);
	assert_int_equal(jobs[0].done, 1);
	assert_false(jobs[0].is_done);
	assert_false(jobs[1].was_stopped);
	assert_true(jobs[1].is_done);
}

static void a_cancelled_copy_is_not_finished(void **state)
{
	struct bed *bed = *state;
	struct job job = { 0 };
	struct job next = { 0 };

	fake_clock.step_us = PLANNER_SLICE_US;
	assert_true(start(bed, &job));
	(void)uv_run(&bed->loop, UV_RUN_ONCE);
	(void)uv_run(&bed->loop, UV_RUN_ONCE);
	planner_cancel(bed->planner, &job);
	assert_int_equal(job.done, 1);
	assert_false(job.is_done);
	run(bed);
	assert_int_equal(job.worked, 0);
	run_job(bed, &next);
	assert_int_equal(job.done, 1);
}

static void a_cancelled_search_may_end_with_the_planner(void **state)
{
	struct bed *bed = *state;
	struct job job = { .waits = true };

	assert_true(start(bed, &job));
	run_until_working(bed, &job);
	planner_cancel(bed->planner, &job);
	close_planner(bed);
	assert_int_equal(job.done, 1);
	assert_false(job.is_done);
}

static void the_input_has_the_defaults(void **state)
{
	struct job job = { 0 };

	run_job(*state, &job);
	assert_int_equal(job.input.max_moves, PLAN_MOVES);
	assert_true(job.input.max_load == PLAN_LOAD_MAX);
	assert_true(job.input.filter->has_memory_limit);
	assert_true(job.input.now_us > NOW_US);
	assert_int_equal(job.input.vm_count, 0);
}

static void closing_ends_a_search_and_tells_every_job_once(void **state)
{
	struct bed *bed = *state;
	struct job jobs[3] = { { .waits = true } };

	for (int i = 0; i < 3; i++) {
		assert_true(start(bed, &jobs[i]));
	}
	run_until_working(bed, &jobs[0]);
	assert_int_equal(jobs[0].done, 0);
	close_planner(bed);
	assert_true(jobs[0].was_stopped);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(jobs[i].done, 1);
		assert_false(jobs[i].is_done);
	}
	assert_int_equal(jobs[1].worked, 0);
}

static void closing_ends_a_copy_that_is_being_made(void **state)
{
	struct bed *bed = *state;
	struct job job = { 0 };

	fake_clock.step_us = PLANNER_SLICE_US;
	assert_true(start(bed, &job));
	(void)uv_run(&bed->loop, UV_RUN_ONCE);
	(void)uv_run(&bed->loop, UV_RUN_ONCE);
	close_planner(bed);
	assert_int_equal(job.worked, 0);
	assert_int_equal(job.done, 1);
	assert_false(job.is_done);
}

static void without_complete_caches_nothing_is_searched(void **state)
{
	struct bed *bed = *state;
	struct job jobs[2] = { 0 };
	struct job last = { 0 };

	bed->cache.is_complete = false;
	assert_true(start(bed, &jobs[0]));
	assert_int_equal(jobs[0].done, 0);
	run(bed);
	bed->cache.is_complete = true;
	fake_kubevirt.not_ready = "virtualmachineinstances are not watched";
	assert_true(start(bed, &jobs[1]));
	run(bed);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(jobs[i].done, 1);
		assert_false(jobs[i].is_done);
		assert_int_equal(jobs[i].worked, 0);
	}
	fake_kubevirt.not_ready = NULL;
	run_job(bed, &last);
}

/* One node and more in each slice, and the loop turns between two. */
static void a_slice_ends_when_its_time_is_over(void **state)
{
	struct bed *bed = *state;
	struct job job = { 0 }, again = { 0 };
	struct planner_stats stats;
	double copy_s;
	int turns = 0;

	fake_clock.step_us = PLANNER_SLICE_US / 2;
	assert_true(start(bed, &job));
	for (; !atomic_load(&job.is_working); turns++) {
		(void)uv_run(&bed->loop, UV_RUN_ONCE);
		assert_true(turns < 1000);
	}
	assert_true(turns >= NODES / 2);
	run(bed);
	planner_stats(bed->planner, &stats);
	assert_true(stats.longest_slice_s > 0);
	assert_true(
		stats.longest_slice_s <= 2 * (double)PLANNER_SLICE_US / 1e6);
	/* The time of a copy is that of the last job. */
	copy_s = stats.copy_s;
	run_job(bed, &again);
	planner_stats(bed->planner, &stats);
	assert_true(copy_s > 0 && stats.copy_s < 1.5 * copy_s);
}

static void change_all(struct bed *bed)
{
	for (int n = 0; n < NODES; n++) {
		scoped_free char *name = xasprintf("n%d", n);

		if (n % 3 == 0) {
			cache_remove_node(&bed->cache, name);
		} else {
			put_node(bed, name, "'unschedulable':true");
		}
	}
	for (int i = 0; i < 3; i++) {
		scoped_free char *uid = xasprintf("pod-v%d", i);

		(void)cache_remove_pod(&bed->cache, uid);
	}
}

/* Reads the copy before and after the cluster changes. */
static void work_meanwhile(void *owner, struct plan_input *input)
{
	struct job *job = owner;
	char before[sizeof(job->seen)];

	note_vms(job, input);
	memcpy(before, job->seen, sizeof(before));
	atomic_store(&job->is_working, true);
	while (!atomic_load(&job->changed)) {
		note_vms(job, input);
	}
	note_vms(job, input);
	assert_string_equal(before, job->seen);
	assert_int_equal(input->cluster->count, NODES);
	job->input = *input;
}

static void the_cluster_may_change_during_a_search(void **state)
{
	struct bed *bed = *state;
	struct job job = { .bed = bed };

	for (int i = 0; i < 3; i++) {
		scoped_free char *name = xasprintf("v%d", i);

		(void)put_pod(bed, name, "n3", "ours", "");
	}
	assert_true(planner_start(bed->planner,
		&(struct planner_job){ .work = work_meanwhile,
			.done = done,
			.owner = &job }));
	run_until_working(bed, &job);
	change_all(bed);
	atomic_store(&job.changed, true);
	run(bed);
	assert_true(job.is_done);
	assert_non_null(strstr(job.seen, "v2 on n3"));
}

static char texts[8][2][8], n3[] = "n3", n4[] = "n4";

static struct vmi *put_vm(struct bed *bed, int i, const char *scheduler)
{
	char *name = texts[i][0], *uid = texts[i][1];

	(void)snprintf(name, 8, "v%d", i);
	(void)snprintf(uid, 8, "vmi-v%d", i);
	(void)put_pod(bed, name, n3, scheduler, "");
	return fake_vmi(name, uid, n3);
}

static void put_record(struct bed *bed, const char *vm, enum move_state move)
{
	struct move_record record = { .revision = 1, .state = move };

	record.wall_us = WALL_US;
	record.ordered_us = record.wall_us;
	(void)snprintf(record.id, sizeof(record.id), "id-%s", vm);
	(void)snprintf(record.vm, sizeof(record.vm), "%s", vm);
	(void)snprintf(record.source, sizeof(record.source), "n3");
	(void)snprintf(record.target, sizeof(record.target), "n4");
	(void)move_records_put(&bed->records, &record);
}

static void each_vm_has_the_reason_why_it_stays(void **state)
{
	static char block[] = "no shared disk";
	struct bed *bed = *state;
	struct job job = { 0 };
	struct vmi *vmi;
	const struct move_record last = { .vm = "v5",
		.target = "n3",
		.ended_us = WALL_US };

	(void)put_vm(bed, 0, "ours");
	(void)put_vm(bed, 1, "other");
	vmi = put_vm(bed, 2, "ours");
	vmi->is_migratable = false;
	vmi->why_not = block;
	(void)put_vm(bed, 3, "ours");
	put_record(bed, "v3", MOVE_SUCCEEDED);
	(void)put_vm(bed, 5, "ours");
	assert_true(conflicts_observe(&bed->conflicts, &last, "n3", WALL_US));
	run_job(bed, &job);
	assert_non_null(strstr(job.seen, "v0 on n3 may move; "));
	assert_non_null(
		strstr(job.seen, "v1 on n3 is placed by another scheduler; "));
	assert_non_null(strstr(job.seen,
		"v2 on n3 cannot be migrated: no shared disk; "));
	assert_non_null(
		strstr(job.seen, "v3 on n3 is in the cooldown after a move; "));
	assert_non_null(strstr(job.seen,
		"v5 on n3 is in a cooldown, because another controller moved "
		"it after plimsoll did; "));
}

static void a_vm_rests_only_from_moves_that_nobody_asked_for(void **state)
{
	struct bed *bed = *state;
	struct job job = { .is_asked = true };

	(void)put_vm(bed, 1, "other");
	put_vm(bed, 2, "ours")->is_migratable = false;
	(void)put_vm(bed, 3, "ours");
	put_record(bed, "v3", MOVE_SUCCEEDED);
	run_job(bed, &job);
	assert_non_null(strstr(job.seen, "v1 on n3 may move; "));
	assert_non_null(strstr(job.seen, "v2 on n3 cannot be migrated"));
	assert_non_null(strstr(job.seen, "v3 on n3 may move; "));
}

static void a_vm_that_nobody_watched_for_long_stays(void **state)
{
	struct bed *bed = *state;
	struct job job = { 0 };

	(void)put_vm(bed, 0, "ours");
	bed->cache.cluster.nodes[3]->vms.list[0].model.usage.recent_seconds = 9;
	run_job(bed, &job);
	assert_string_equal(job.seen,
		"v0 on n3 has run here for less than about a minute, so its "
		"use is not known yet; ");
}

static void a_vm_on_its_way_is_leaving(void **state)
{
	scoped_buffer struct buffer why = BUFFER_MAX(256);
	struct bed *bed = *state;
	const struct node *node = bed->cache.cluster.nodes[3];
	struct job job = { 0 };
	struct migration *migration;

	(void)put_vm(bed, 0, "ours");
	assert_true(
		planner_may_move(bed->planner, node->pods[0].pod, node, &why));
	put_record(bed, "v0", MOVE_ORDERED);
	assert_false(
		planner_may_move(bed->planner, node->pods[0].pod, node, &why));
	assert_string_equal(why.data, "is on its way to another node");
	(void)put_vm(bed, 1, "ours");
	migration =
		fake_migration(fake_nothing, texts[1][0], MIGRATION_SCHEDULING);
	migration->target = n4;
	/* Our order, whose target KubeVirt has not shown yet. */
	(void)put_vm(bed, 2, "ours");
	put_record(bed, "v2", MOVE_RUNNING);
	(void)fake_migration(fake_nothing, texts[2][0], MIGRATION_PENDING);
	run_job(bed, &job);
	assert_string_equal(job.seen,
		"v0 on n3 for now is on its way to another node; "
		"v1 on n3 for now is on its way to another node; "
		"v2 on n3 for now is on its way to another node; ");
}

static void a_vm_whose_migration_takes_it_nowhere_yet_stays(void **state)
{
	struct bed *bed = *state;
	struct job job = { 0 };
	struct migration *migration;

	(void)put_vm(bed, 0, "ours");
	(void)fake_migration(fake_nothing, texts[0][0], MIGRATION_PENDING);
	/* After the handoff: the VM runs in the migration's target here. */
	(void)put_vm(bed, 1, "ours");
	migration =
		fake_migration(fake_nothing, texts[1][0], MIGRATION_RUNNING);
	migration->target = n3;
	run_job(bed, &job);
	assert_string_equal(job.seen,
		"v0 on n3 is being migrated; v1 on n3 is being migrated; ");
}

static void room_that_is_kept_is_no_vm(void **state)
{
	struct bed *bed = *state;
	struct job job = { 0 };

	(void)put_vm(bed, 0, "ours");
	(void)put_pod(bed, "target", "n5", "ours",
		",'kubevirt.io/migrationJobUID':'x'");
	put_pod(bed, "temp", "n5", "ours", "")->is_provisional = true;
	assert_true(
		cache_put_copy(&bed->cache, "pod-v0", "copy", "n6", NOW_US));
	run_job(bed, &job);
	assert_string_equal(job.seen, "v0 on n3 may move; ");
}

/* ---- exclusions ---- */

static char exclusion_of_n5[64], exclusion_of_n6[64];

static void work_exclusions(void *owner, struct plan_input *input)
{
	struct job *job = owner;

	job->input = *input;
	for (size_t i = 0; i < input->cluster->count; i++) {
		const char *name = input->cluster->nodes[i]->name;
		const char *exclusion = input->exclusions[i];

		if (strcmp(name, "n5") == 0 || strcmp(name, "n6") == 0) {
			(void)snprintf(name[1] == '5' ? exclusion_of_n5
						      : exclusion_of_n6,
				64, "%s",
				exclusion == NULL ? "none" : exclusion);
		}
	}
}

static void a_cordoned_node_is_excluded(void **state)
{
	struct bed *bed = *state;
	struct job job = { .bed = bed };

	put_node(bed, "n6", "'unschedulable':true");
	assert_true(planner_start(bed->planner,
		&(struct planner_job){ .work = work_exclusions,
			.done = done,
			.owner = &job }));
	run(bed);
	assert_string_equal(exclusion_of_n5, "none");
	assert_string_equal(exclusion_of_n6, "is cordoned");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(jobs_run_one_after_the_other_in_order),
		CASE(more_jobs_than_may_wait_are_refused),
		CASE(reports_go_after_the_other_jobs),
		CASE(a_cancelled_job_that_waits_is_over_at_once),
		CASE(a_cancelled_search_stops_and_the_next_one_runs_to_its_end),
		CASE(a_cancelled_copy_is_not_finished),
		CASE(a_cancelled_search_may_end_with_the_planner),
		CASE(the_input_has_the_defaults),
		CASE(closing_ends_a_search_and_tells_every_job_once),
		CASE(closing_ends_a_copy_that_is_being_made),
		CASE(without_complete_caches_nothing_is_searched),
		CASE(a_slice_ends_when_its_time_is_over),
		CASE(the_cluster_may_change_during_a_search),
		CASE(each_vm_has_the_reason_why_it_stays),
		CASE(a_vm_rests_only_from_moves_that_nobody_asked_for),
		CASE(a_vm_that_nobody_watched_for_long_stays),
		CASE(a_vm_on_its_way_is_leaving),
		CASE(a_vm_whose_migration_takes_it_nowhere_yet_stays),
		CASE(room_that_is_kept_is_no_vm),
		CASE(a_cordoned_node_is_excluded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
