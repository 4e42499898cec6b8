#include "scheduler/plan/search.h"

#include "lib/memory.h"
#include "scheduler/plan/state_order.h"

#include <stdlib.h>

_Static_assert(REASON_SCALAR + RESOURCES_POD_MAX <= 62,
	"the search has two reasons of its own");

/* ---- begin and end ---- */

static bool stays(const struct search *s, const struct plan_vm *vm)
{
	return vm->why_not != NULL || vm->is_leaving ||
		(s->goal != NULL && vm->pod->priority >= s->goal->priority);
}

void search_begin(struct search *s, struct state *state,
	const struct plan_goal *goal)
{
	const struct plan_input *input = state->input;

	*s = (struct search){ .state = state,
		.options = *input->filter,
		.limit = input->max_work == 0 ? PLAN_WORK : input->max_work,
		.quota = UINT64_MAX,
		.goal = goal->kind == PLAN_POD_FITS ? goal->pod : NULL,
		.closed = STATE_NONE,
		.open = STATE_NONE };
	for (size_t i = 0; i < state->vm_count; i++) {
		state->vms[i].stays = stays(s, state->vms[i].vm);
	}
	classes_begin(&s->classes, state, goal->kind == PLAN_NODES_GONE);
	s->ready = xcalloc(SEARCH_DEPTH_MAX, sizeof(*s->ready));
}

void search_end(struct search *s)
{
	for (size_t i = 0; i < SEARCH_DEPTH_MAX; i++) {
		move_filter_fini(&s->ready[i].filter);
	}
	free(s->ready);
	free(s->best.vms);
	free(s->best.targets);
	free(s->best.kinds);
	relations_end(&s->relations);
	classes_end(&s->classes);
	*s = (struct search){ 0 };
}

bool search_is_over(struct search *s)
{
	s->is_cut |= s->work >= s->limit || state_is_stopped(s->state);
	return s->is_cut;
}

void search_limit(struct search *s, uint64_t part, uint64_t least)
{
	uint64_t left = s->limit > s->work ? s->limit - s->work : 0;
	uint64_t share = left / part > least ? left / part : least;

	s->quota = s->work + share;
}

/* This search ends; further ones may follow. */
bool search_must_end(struct search *s)
{
	if (search_is_over(s)) {
		return true;
	}
	s->was_short |= s->work >= s->quota;
	return s->work >= s->quota;
}

/* ---- filters ---- */

/* The pod's counts hold, but for those of relations between pods. */
static bool is_prepared(const struct search *s, const struct ready *ready,
	const struct want *want)
{
	const struct prefilter *p = &ready->filter.prefilter;

	return ready->pod == want->pod && ready->kind == want->kind &&
		(ready->version == s->state->version ||
			(p->spread.hard_count == 0 &&
				!p->volumes.counts_users));
}

/* Pods, volumes and nominated pods that are read at the cost of one filter. */
enum {
	PODS_PER_WORK = 4,
	COUNTS_PER_WORK = 2,
	VOLUMES_PER_WORK = 8,
	NOMINATED_PER_WORK = 64,
};

static uint64_t work_of_volumes(const struct volumes *volumes)
{
	uint64_t count = volumes->bound_count + volumes->zoned_count +
		volumes->new_count;

	for (size_t i = 0; i < volumes->delayed_count; i++) {
		const struct delayed_claim *claim = &volumes->delayed[i];

		count += 1 + claim->prebound + claim->unpinned_count +
			claim->capacity_count;
	}
	return count / VOLUMES_PER_WORK;
}

/* Each claim without a volume was compared with all volumes. */
static uint64_t work_of_matching(const struct search *s,
	const struct volumes *volumes)
{
	const struct storage *storage = &s->state->input->cluster->storage;

	return volumes->delayed_count *
		(1 + storage->maps[STORAGE_VOLUMES].count / VOLUMES_PER_WORK);
}

static void prepare(struct search *s, struct ready *ready,
	const struct want *want)
{
	static const enum move_filter_kind kinds[] = {
		[WANT_MOVE] = MOVE_FILTER_MOVE,
		[WANT_START] = MOVE_FILTER_START,
		[WANT_POD] = MOVE_FILTER_POD,
		[WANT_CLASS] = MOVE_FILTER_START,
	};
	const struct prefilter *p = &ready->filter.prefilter;

	move_filter_prepare_plain(&ready->filter, &s->classes.plain, want->pod,
		kinds[want->kind]);
	ready->pod = want->pod;
	ready->kind = want->kind;
	ready->node_work = 1 + work_of_volumes(&p->volumes) +
		s->state->input->cluster->nominated_count / NOMINATED_PER_WORK;
	s->work += 2 + want->pod->volumes.claim_count +
		work_of_matching(s, &p->volumes);
	if (p->spread.hard_count > 0 || p->volumes.counts_users) {
		s->work += s->state->vm_count / COUNTS_PER_WORK;
	}
}

static void count_relations(struct search *s, struct ready *ready)
{
	if (s->relations.state == NULL) {
		relations_begin(&s->relations, s->state, s->goal);
		s->work += s->state->vm_count / PODS_PER_WORK;
	}
	s->work += 1 +
		relations_count(&s->relations, &ready->filter) / PODS_PER_WORK;
}

static struct move_filter *ready_for(struct search *s, const struct want *want)
{
	struct ready *ready = &s->ready[s->depth];
	bool is_prepared_now = is_prepared(s, ready, want);

	if (!is_prepared_now) {
		prepare(s, ready, want);
	}
	if ((!is_prepared_now || ready->version != s->state->version) &&
		s->state->has_relations && want->kind != WANT_CLASS) {
		count_relations(s, ready);
	}
	ready->version = s->state->version;
	return &ready->filter;
}

static bool is_overloaded(const struct search *s, const struct want *want)
{
	return state_order_load(s->state, want->node,
		       &s->state->vms[want->vm]) > s->state->input->max_load;
}

uint64_t search_admits(struct search *s, const struct want *want)
{
	const struct state_node *at = &s->state->nodes[want->node];
	int64_t now_us = s->state->input->now_us;
	struct move_filter *filter;
	uint64_t reasons;

	if (at->is_gone || want->node == s->closed ||
		(want_has_vm(want) && at->exclusion != NULL)) {
		return SEARCH_EXCLUDED;
	}
	filter = ready_for(s, want);
	s->work += s->ready[s->depth].node_work;
	if (move_filter_is_avoided(filter, at->node, now_us)) {
		return SEARCH_EXCLUDED;
	}
	reasons = move_filter_node(filter, at->node, &s->options, now_us);
	if (reasons == 0 && want_has_vm(want) && is_overloaded(s, want)) {
		return SEARCH_LOAD;
	}
	return reasons;
}

bool search_has_room(struct search *s, size_t vm)
{
	struct want want = { .kind = WANT_MOVE,
		.vm = vm,
		.pod = s->state->vms[vm].vm->pod };

	for (size_t i = 0; i < s->state->node_count; i++) {
		want.node = i;
		if (i != s->state->vms[vm].vm->node &&
			search_admits(s, &want) == 0) {
			return true;
		}
	}
	return false;
}

bool search_may_leave(const struct search *s, size_t index)
{
	const struct state_vm *vm = &s->state->vms[index];

	return !vm->stays && !vm->has_moved && !vm->is_busy &&
		vm->node != STATE_NONE &&
		(s->state->nodes[vm->node].exclusion == NULL ||
			vm->node == s->open);
}
