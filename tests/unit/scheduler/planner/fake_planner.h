/* A planner without a thread, whose plans a test writes: the functions of
 * make_room/planner.h and plan/plan.h. With FAKE_REAL_PLANS the search is the
 * real one. Include it in one file of a test. */
#pragma once

#include "scheduler/mover/move_actions.h"
#include "scheduler/mover/recorder.h"
#include "scheduler/planner/plan_world.h"
#include "scheduler/planner/planner.h"
#include "tests/unit/scheduler/mover/mover_bed.h"

struct fake_step {
	const char *vm; /* its launcher is pod-VM */
	const char *source, *target;
};

struct planner {
	struct planner_job jobs[PLANNER_JOBS_MAX];
	size_t count;
	unsigned searches;
	bool is_full;
	const char *node; /* of the next plan; NULL: there is none */
	const char *sentence;
	struct fake_step steps[PLAN_MOVES];
	size_t step_count;
};

static struct planner fake_planner;

bool planner_start(struct planner *planner, const struct planner_job *job)
{
	if (planner->is_full) {
		return false;
	}
	assert_true(planner->count < PLANNER_JOBS_MAX);
	planner->jobs[planner->count++] = *job;
	return true;
}

void planner_cancel(struct planner *planner, const void *owner)
{
	static const struct plan_input none = { 0 };

	for (size_t i = 0; i < planner->count; i++) {
		if (planner->jobs[i].owner == owner) {
			struct planner_job job = planner->jobs[i];

			planner->jobs[i] = planner->jobs[--planner->count];
			job.done(job.owner, &none, false);
			return;
		}
	}
}

#ifndef FAKE_REAL_PLANS
static inline size_t fake_index(const struct cluster *cluster, const char *name)
{
	size_t i = 0;

	while (strcmp(cluster->nodes[i]->name, name) != 0) {
		i++;
		assert_true(i < cluster->count);
	}
	return i;
}

static inline const struct pod *fake_vm(const struct plan_input *input,
	const char *uid)
{
	for (size_t i = 0; i < input->vm_count; i++) {
		if (strcmp(input->vms[i].pod->uid, uid) == 0) {
			return input->vms[i].pod;
		}
	}
	return NULL;
}

void plan_find(struct plan *out, const struct plan_input *input,
	const struct plan_goal *goal)
{
	const struct planner *p = &fake_planner;

	*out = (struct plan){ .is_found = p->node != NULL,
		.node = PLAN_NOWHERE };
	(void)goal;
	(void)snprintf(out->sentence, sizeof(out->sentence), "%s", p->sentence);
	if (p->node == NULL) {
		return;
	}
	out->node = (ptrdiff_t)fake_index(input->cluster, p->node);
	out->steps = xcalloc(PLAN_MOVES, sizeof(*out->steps));
	for (size_t i = 0; i < p->step_count; i++) {
		scoped_free char *uid = xasprintf("pod-%s", p->steps[i].vm);

		out->steps[i] = (struct plan_step){
			.pod = fake_vm(input, uid),
			.source =
				fake_index(input->cluster, p->steps[i].source),
			.target =
				fake_index(input->cluster, p->steps[i].target),
			.source_load_before = NAN,
			.source_load_after = NAN,
			.target_load_before = NAN,
			.target_load_after = NAN,
		};
		assert_non_null(out->steps[i].pod);
	}
	out->count = p->step_count;
	out->moves = p->step_count;
}

void plan_fini(struct plan *plan)
{
	free(plan->steps);
	*plan = (struct plan){ 0 };
}
#endif

static inline void fake_job(const struct planner_job *job, bool is_done)
{
	const struct move_actions *actions = mover_actions(scene.mover);
	const struct planner_options options = { .cache = &scene.cache,
		.kubevirt = move_actions_kubevirt(actions),
		.records = move_actions_records(actions),
		.conflicts = move_actions_conflicts(actions),
		.scheduler_name = "plimsoll-scheduler" };
	struct plan_world world = { 0 };
	struct plan_input input;

	plan_world_begin(&world, &options, now_us(),
		WALL_US + (uint64_t)now_us());
	while (plan_world_next(&world)) {
	}
	input = plan_world_input(&world);
	if (is_done) {
		job->work(job->owner, &input);
	}
	job->done(job->owner, &input, is_done);
	while (plan_world_free_next(&world)) {
	}
}

/* The jobs that wait run and end. */
static inline void fake_search(bool is_done)
{
	while (fake_planner.count > 0) {
		struct planner_job job =
			fake_planner.jobs[--fake_planner.count];

		fake_planner.searches += is_done;
		fake_job(&job, is_done);
	}
}

#include "tests/unit/scheduler/make_room/fake_plans.h"
