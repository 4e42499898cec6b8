/* A planner whose plans a test writes: the functions of make_room/planner.h and
 * plan/plan.h. Include it in one file of a test. */
#pragma once

#include "scheduler/make_room/planner.h"
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
	/* The next plan. */
	const char *node; /* NULL: there is none */
	const char *sentence;
	struct fake_step steps[PLAN_MOVES];
	size_t step_count;
	const char *pod; /* the name of the last goal's pod */
};

static struct planner fake_planner;
static char fake_pod_name[64];

bool planner_start(struct planner *planner, const struct planner_job *job)
{
	if (planner->is_full) {
		return false;
	}
	assert_true(planner->count < PLANNER_JOBS_MAX);
	planner->jobs[planner->count++] = *job;
	return true;
}

static inline size_t fake_index(const struct cluster *cluster, const char *name)
{
	size_t i = 0;

	while (strcmp(cluster->nodes[i]->name, name) != 0) {
		i++;
		assert_true(i < cluster->count);
	}
	return i;
}

void plan_find(struct plan *out, const struct plan_input *input,
	const struct plan_goal *goal)
{
	const struct planner *p = &fake_planner;

	*out = (struct plan){ .is_found = p->node != NULL,
		.node = PLAN_NOWHERE };
	(void)snprintf(fake_pod_name, sizeof(fake_pod_name), "%s",
		goal->pod->name);
	(void)snprintf(out->sentence, sizeof(out->sentence), "%s", p->sentence);
	if (p->node == NULL) {
		return;
	}
	out->node = (ptrdiff_t)fake_index(input->cluster, p->node);
	out->steps = xcalloc(PLAN_MOVES, sizeof(*out->steps));
	for (size_t i = 0; i < p->step_count; i++) {
		scoped_free char *uid = xasprintf("pod-%s", p->steps[i].vm);

		out->steps[i] = (struct plan_step){
			.pod = cache_pod(&scene.cache, uid),
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

/* The jobs that wait run and end. */
static inline void fake_search(bool is_done)
{
	struct planner_job job;

	while (fake_planner.count > 0) {
		struct plan_input input = { .cluster = &scene.cache.cluster };

		job = fake_planner.jobs[--fake_planner.count];
		fake_planner.searches += is_done;
		if (is_done) {
			job.work(job.owner, &input);
		}
		job.done(job.owner, &input, is_done);
	}
}

/* ---- plans ---- */

static inline void plan_nothing(const char *sentence)
{
	fake_planner.node = NULL;
	fake_planner.sentence = sentence;
	fake_planner.step_count = 0;
}

static inline void plan_for(const char *node, const char *sentence)
{
	fake_planner.node = node;
	fake_planner.sentence = sentence;
	fake_planner.step_count = 0;
}

static inline void plan_step(const char *vm, const char *source,
	const char *target)
{
	fake_planner.steps[fake_planner.step_count++] =
		(struct fake_step){ vm, source, target };
}
