#include "scheduler/plan/search.h"

#include "lib/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(REASON_SCALAR + RESOURCES_POD_MAX <= 62,
	"the search has two reasons of its own");

/* ---- begin and end ---- */

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
	classes_begin(&s->classes, state);
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
	classes_end(&s->classes);
	*s = (struct search){ 0 };
}

bool search_is_over(struct search *s)
{
	const atomic_bool *stop = s->state->input->stop;

	s->is_cut |= s->work >= s->limit ||
		(stop != NULL &&
			atomic_load_explicit(stop, memory_order_relaxed));
	return s->is_cut;
}

void search_limit(struct search *s, uint64_t part, uint64_t least)
{
	uint64_t left = s->limit > s->work ? s->limit - s->work : 0;
	uint64_t share = left / part > least ? left / part : least;

	s->quota = s->work + share;
}

/* This search ends; further ones may follow. */
static bool must_end(struct search *s)
{
	if (search_is_over(s)) {
		return true;
	}
	s->was_short |= s->work >= s->quota;
	return s->work >= s->quota;
}

/* ---- filters ---- */

static bool is_current(const struct search *s, const struct ready *ready,
	const struct want *want)
{
	return ready->pod == want->pod && ready->kind == want->kind &&
		(ready->version == s->state->version ||
			(!s->state->has_relations &&
				!ready->filter.prefilter.volumes.counts_users));
}

/* The counts of a pod's relations cost about this many filters. */
static uint64_t cost_of(const struct search *s, const struct want *want)
{
	const struct cluster *cluster = s->state->cluster;

	if (want->kind == WANT_CLASS) {
		return 2;
	}
	return 2 + cluster->affinity_pod_count / 8 +
		(want->pod->spread.hard_count > 0 ||
					pod_affinity_has_terms(
						&want->pod->affinity)
				? s->state->vm_count / 4
				: 0);
}

static struct move_filter *ready_for(struct search *s, const struct want *want)
{
	static const enum move_filter_kind kinds[] = {
		[WANT_MOVE] = MOVE_FILTER_MOVE,
		[WANT_START] = MOVE_FILTER_START,
		[WANT_POD] = MOVE_FILTER_POD,
		[WANT_CLASS] = MOVE_FILTER_START,
	};
	struct ready *ready = &s->ready[s->depth];

	if (!is_current(s, ready, want)) {
		move_filter_prepare(&ready->filter,
			want->kind == WANT_CLASS ? &s->classes.plain
						 : s->state->cluster,
			want->pod, kinds[want->kind]);
		ready->pod = want->pod;
		ready->kind = want->kind;
		ready->version = s->state->version;
		s->work += cost_of(s, want);
	}
	return &ready->filter;
}

static bool is_overloaded(const struct search *s, const struct want *want)
{
	return state_load(s->state, want->node, &s->state->vms[want->vm]) >
		s->state->input->max_load;
}

static bool has_vm(const struct want *want)
{
	return want->kind == WANT_MOVE || want->kind == WANT_START;
}

uint64_t search_admits(struct search *s, const struct want *want)
{
	const struct state_node *at = &s->state->nodes[want->node];
	int64_t now_us = s->state->input->now_us;
	struct move_filter *filter;
	uint64_t reasons;

	if (at->is_gone || want->node == s->closed ||
		(has_vm(want) && at->aside != NULL)) {
		return SEARCH_ASIDE;
	}
	filter = ready_for(s, want);
	s->work++;
	if (move_filter_is_avoided(filter, at->node, now_us)) {
		return SEARCH_ASIDE;
	}
	reasons = move_filter_node(filter, at->node, &s->options, now_us);
	if (reasons == 0 && has_vm(want) && is_overloaded(s, want)) {
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

	return vm->vm->why_not == NULL && !vm->has_moved && !vm->is_busy &&
		vm->node != STATE_NONE &&
		(s->state->nodes[vm->node].aside == NULL ||
			vm->node == s->open) &&
		(s->goal == NULL || vm->vm->pod->priority < s->goal->priority);
}

/* ---- what was found ---- */

static long load_of(const struct plan_step *step)
{
	double load = step->target_load_after;

	return isnan(load) || load > 1000 ? 0 : lround(load * 1e4);
}

static void grow(struct found *best, size_t count)
{
	if (count > best->capacity) {
		best->capacity = count;
		best->vms = xrealloc(best->vms, count, sizeof(size_t));
		best->targets = xrealloc(best->targets, count, sizeof(size_t));
		best->kinds =
			xrealloc(best->kinds, count, sizeof(*best->kinds));
	}
}

static double memory_of(const struct state *state)
{
	double memory = 0;

	for (size_t i = 0; i < state->step_count; i++) {
		if (state->steps[i].kind == PLAN_MOVE) {
			memory += state->vms[state->step_vms[i]].memory;
		}
	}
	return memory;
}

static long highest_load(const struct state *state)
{
	long highest = 0;

	for (size_t i = 0; i < state->step_count; i++) {
		long load = load_of(&state->steps[i]);

		highest = load > highest ? load : highest;
	}
	return highest;
}

static bool is_better(const struct search *s, size_t moves, double memory,
	long load)
{
	const struct found *best = &s->best;

	if (!best->is_found || moves != best->moves) {
		return !best->is_found || moves < best->moves;
	}
	if (fabs(memory - best->memory) >= 1) {
		return memory < best->memory;
	}
	return load < best->load;
}

static void copy_steps(struct found *best, const struct state *state)
{
	grow(best, state->step_count);
	best->count = state->step_count;
	for (size_t i = 0; i < state->step_count; i++) {
		best->vms[i] = state->step_vms[i];
		best->targets[i] = state->steps[i].target;
		best->kinds[i] = state->steps[i].kind;
	}
}

/* All wants are done. True: the search ends. */
static bool arrive(struct search *s, size_t node)
{
	const struct state *state = s->state;
	double memory;
	long load;

	if (s->is_probing) {
		s->has_reached = true;
		return true;
	}
	memory = memory_of(state);
	load = highest_load(state);
	if (is_better(s, state->moves, memory, load)) {
		if (!s->best.is_found && !s->ends_at_first) {
			/* Improving must not cost more than finding. */
			uint64_t more = s->work < 200000 ? 200000 : s->work;

			s->limit = s->work + more < s->limit ? s->work + more
							     : s->limit;
		}
		copy_steps(&s->best, state);
		s->best.is_found = true;
		s->best.moves = state->moves;
		s->best.memory = memory;
		s->best.load = load;
		s->best.node = node;
	}
	return s->ends_at_first;
}

/* ---- wants ---- */

static bool reach(struct search *s, struct want *want, size_t left,
	size_t node);

static size_t pending(const struct want *want)
{
	size_t count = 0;

	for (; want != NULL; want = want->below) {
		count += want->kind == WANT_MOVE;
	}
	return count;
}

/* The want's turn has come. */
static bool do_want(struct search *s, struct want *want, size_t left,
	size_t node)
{
	bool is_over;

	node = want->kind == WANT_POD ? want->node : node;
	if (!has_vm(want)) {
		return reach(s, want->below, left, node);
	}
	state_step(s->state, want->vm, want->node,
		want->kind == WANT_MOVE ? PLAN_MOVE : PLAN_START);
	is_over = reach(s, want->below,
		left - (want->kind == WANT_MOVE ? 1 : 0), node);
	state_undo_step(s->state);
	return is_over;
}

/* The node admits the want's pod without this VM. */
static bool suffices(struct search *s, const struct want *want, size_t vm)
{
	bool is_enough;

	state_take_off(s->state, vm);
	is_enough = search_admits(s, want) == 0;
	state_put_back(s->state, vm);
	return is_enough;
}

/* The node admits the want's pod without all the VMs that may leave. */
static bool is_possible(struct search *s, const struct want *want)
{
	const struct state_node *at = &s->state->nodes[want->node];
	bool is_enough;
	size_t taken = 0;
	size_t *vms = xcalloc(at->vm_count + 1, sizeof(size_t));

	for (size_t i = want->first; i < at->vm_count; i++) {
		if (search_may_leave(s, at->vm_list[i])) {
			vms[taken++] = at->vm_list[i];
			state_take_off(s->state, at->vm_list[i]);
		}
	}
	s->work += taken;
	is_enough = search_admits(s, want) == 0;
	while (taken > 0) {
		state_put_back(s->state, vms[--taken]);
	}
	free(vms);
	return is_enough;
}

/* ---- targets ---- */

static void list_node(struct class_nodes *nodes, size_t node, size_t most)
{
	if (nodes->list == NULL) {
		nodes->list = xcalloc(most + 1, sizeof(size_t));
	}
	nodes->list[nodes->count++] = node;
}

/* Runs with the state as it was before any step. */
struct rewound {
	size_t *vms, *targets;
	enum plan_step_kind *kinds;
	bool *busy;
	size_t count;
	bool was_probing, had_reached;
	uint64_t quota;
};

static void rewind_state(struct search *s, struct rewound *out)
{
	struct state *state = s->state;

	*out = (struct rewound){ .count = state->step_count,
		.was_probing = s->is_probing,
		.had_reached = s->has_reached,
		.quota = s->quota };
	out->vms = xcalloc(out->count + 1, sizeof(size_t));
	out->targets = xcalloc(out->count + 1, sizeof(size_t));
	out->kinds = xcalloc(out->count + 1, sizeof(*out->kinds));
	out->busy = xcalloc(state->vm_count + 1, sizeof(bool));
	for (size_t i = 0; i < out->count; i++) {
		out->vms[i] = state->step_vms[i];
		out->targets[i] = state->steps[i].target;
		out->kinds[i] = state->steps[i].kind;
	}
	while (state->step_count > 0) {
		state_undo_step(state);
	}
	for (size_t i = 0; i < state->vm_count; i++) {
		out->busy[i] = state->vms[i].is_busy;
		state->vms[i].is_busy = false;
	}
	s->is_probing = true;
	s->quota = UINT64_MAX;
}

static void go_forward(struct search *s, struct rewound *from)
{
	struct state *state = s->state;

	for (size_t i = 0; i < state->vm_count; i++) {
		state->vms[i].is_busy = from->busy[i];
	}
	for (size_t i = 0; i < from->count; i++) {
		state_step(state, from->vms[i], from->targets[i],
			from->kinds[i]);
	}
	s->is_probing = from->was_probing;
	s->has_reached = from->had_reached;
	s->quota = from->quota;
	free(from->vms);
	free(from->targets);
	free(from->kinds);
	free(from->busy);
}

static bool probe(struct search *s, const struct class *class, size_t node,
	size_t moves)
{
	struct want want = { .kind = WANT_CLASS,
		.vm = STATE_NONE,
		.pod = &class->pod,
		.node = node };

	s->has_reached = false;
	(void)reach(s, &want, moves, STATE_NONE);
	return s->has_reached;
}

/* moves 0: the nodes with room. */
static void fill_list(struct search *s, const struct class *class,
	struct class_nodes *out, size_t moves)
{
	size_t most = moves == 0 ? s->state->node_count : SEARCH_PUSHES;
	struct rewound rewound;

	rewind_state(s, &rewound);
	out->is_known = true;
	for (size_t i = 0; i < s->state->node_count && out->count < most &&
		!search_is_over(s);
		i++) {
		size_t node = s->state->by_load[i];

		if (s->state->nodes[node].aside == NULL &&
			probe(s, class, node, moves)) {
			list_node(out, node, most);
		}
	}
	go_forward(s, &rewound);
}

static const struct class_nodes *class_list(struct search *s, size_t vm,
	size_t moves)
{
	size_t class = s->state->vms[vm].class;
	struct class_nodes *list = moves == 0
		? &s->classes.list[class].direct
		: &s->classes.list[class].pushed[moves - 1];

	if (!list->is_known) {
		fill_list(s, &s->classes.list[class], list, moves);
	}
	return list;
}

static bool is_only(const struct class_nodes *list, size_t node)
{
	return list->count == 1 && list->list[0] == node;
}

/* A node that a VM has left may take this one. */
static bool has_touched(struct search *s, size_t vm)
{
	struct want want = { .kind = WANT_MOVE,
		.vm = vm,
		.pod = s->state->vms[vm].vm->pod };
	bool has = false;

	s->depth++;
	for (size_t i = 0; i < s->state->step_count && !has; i++) {
		want.node = s->state->steps[i].source;
		has = want.node != s->state->vms[vm].vm->node &&
			search_admits(s, &want) == 0;
	}
	s->depth--;
	return has;
}

/* The fewest moves of other VMs that may give the VM a target; more than
 * `most`: none do. */
static size_t pushes_of(struct search *s, size_t vm, size_t most)
{
	if (s->state->node_count <= SEARCH_SMALL) {
		return 0;
	}
	for (size_t i = 0; i <= most && i <= CLASSES_PUSHES; i++) {
		const struct class_nodes *list = class_list(s, vm, i);

		if (list->count > 0 &&
			!is_only(list, s->state->vms[vm].vm->node)) {
			return i;
		}
		if (i == 0 && s->state->step_count > 0 && has_touched(s, vm)) {
			return 0;
		}
	}
	return most + 1;
}

/* The most that VMs of the node free with some number of moves, for each amount
 * that is short. */
struct relief {
	double most[SHORTFALL_MAX][PLAN_MOVES_MAX + 1];
};

static void add_relief(struct relief *relief, const struct shortfall *shortfall,
	const struct state_vm *vm, size_t cost, size_t moves)
{
	for (size_t i = 0; i < shortfall->count; i++) {
		double share = shortfall_share(shortfall, i, vm);
		double *most = relief->most[i];

		for (size_t k = moves; k >= cost; k--) {
			if (most[k - cost] + share > most[k]) {
				most[k] = most[k - cost] + share;
			}
		}
	}
}

/* The VM `with` and, by `moves` moves, VMs from a position on free enough. */
static bool can_suffice(struct search *s, const struct want *want,
	const struct shortfall *shortfall, size_t with, size_t moves)
{
	const struct state_node *at = &s->state->nodes[want->node];
	struct relief relief;

	for (size_t i = 0; i < shortfall->count; i++) {
		memset(relief.most[i], 0, (moves + 1) * sizeof(double));
	}
	for (size_t k = want->first; k < at->vm_count && moves > 0; k++) {
		size_t vm = at->vm_list[k];
		size_t pushes;

		if (vm == with || !search_may_leave(s, vm)) {
			continue;
		}
		pushes = pushes_of(s, vm, moves - 1);
		if (pushes < moves) {
			add_relief(&relief, shortfall, &s->state->vms[vm],
				pushes + 1, moves);
		}
	}
	for (size_t i = 0; i < shortfall->count; i++) {
		double own = with == STATE_NONE
			? 0
			: shortfall_share(shortfall, i, &s->state->vms[with]);

		if (own + relief.most[i][moves] < shortfall->list[i].amount) {
			return false;
		}
	}
	return true;
}

/* A VM that is to leave, with the moves for all wants below and for it. */
struct departure {
	struct search *search;
	struct want want;
	size_t left, goal_node;
	size_t pushes; /* moves that may make room for it */
	size_t tried;
};

static bool try_target(struct departure *d, size_t node)
{
	struct search *s = d->search;

	if (node == s->state->vms[d->want.vm].vm->node ||
		d->tried >= SEARCH_TARGETS) {
		return false;
	}
	d->want.node = node;
	d->want.first = 0;
	if (d->pushes == 0 || s->state->node_count > SEARCH_SMALL) {
		if (search_admits(s, &d->want) != 0) {
			return false;
		}
		d->tried++;
	}
	return reach(s, &d->want, d->left, d->goal_node);
}

static bool try_small(struct departure *d)
{
	const struct state *state = d->search->state;

	for (size_t i = 0; i < state->node_count; i++) {
		if (try_target(d, state->by_load[i])) {
			return true;
		}
	}
	return false;
}

static bool try_touched(struct departure *d)
{
	const struct state *state = d->search->state;

	for (size_t i = 0; i < state->step_count; i++) {
		if (try_target(d, state->steps[i].source)) {
			return true;
		}
	}
	return false;
}

static bool try_pushed(struct departure *d, size_t pushes)
{
	struct search *s = d->search;
	const struct class_nodes *list = class_list(s, d->want.vm, pushes);

	for (size_t i = 0; i < list->count; i++) {
		if (list->list[i] == s->state->vms[d->want.vm].vm->node) {
			continue;
		}
		d->want.node = list->list[i];
		d->want.first = 0;
		if (reach(s, &d->want, d->left, d->goal_node)) {
			return true;
		}
	}
	return false;
}

static bool try_listed(struct departure *d)
{
	const struct class_nodes *list = class_list(d->search, d->want.vm, 0);
	bool is_over = false;

	for (size_t i = 0; i < list->count && !is_over; i++) {
		is_over = try_target(d, list->list[i]);
	}
	is_over = is_over || try_touched(d);
	for (size_t i = 1; i <= d->pushes && i <= CLASSES_PUSHES && !is_over;
		i++) {
		is_over = try_pushed(d, i);
	}
	return is_over;
}

/* Wants the VM of d to leave. True: the search ends. */
static bool depart(struct departure *d)
{
	struct search *s = d->search;
	bool *is_busy = &s->state->vms[d->want.vm].is_busy;
	bool is_over;

	*is_busy = true;
	s->depth++;
	is_over = s->state->node_count <= SEARCH_SMALL ? try_small(d)
						       : try_listed(d);
	s->depth--;
	*is_busy = false;
	return is_over;
}

/* ---- making room ---- */

/* No plan with this VM is better than the best. */
static bool is_too_big(const struct search *s, size_t vm)
{
	return s->best.is_found && !s->is_probing &&
		memory_of(s->state) + s->state->vms[vm].memory >
		s->best.memory + 1;
}

static bool try_vm(struct search *s, struct want *want, size_t position,
	const struct shortfall *shortfall, size_t left, size_t node)
{
	size_t vm = s->state->nodes[want->node].vm_list[position];
	size_t spare = left - pending(want) - 1;
	size_t pushes;
	struct want next = *want;
	struct departure departure = { .search = s,
		.want = { .kind = WANT_MOVE,
			.vm = vm,
			.pod = s->state->vms[vm].vm->pod,
			.below = &next },
		.left = left,
		.goal_node = node,
		.pushes = spare };

	if (!search_may_leave(s, vm) || is_too_big(s, vm)) {
		return false;
	}
	pushes = pushes_of(s, vm, spare);
	next.first = position + 1;
	if (pushes > spare ||
		!can_suffice(s, &next, shortfall, vm, spare - pushes) ||
		(spare == 0 && !suffices(s, want, vm))) {
		return false;
	}
	return depart(&departure);
}

/* VMs without which there was no plan. */
struct failed {
	const struct state_vm *list[16];
	size_t count;
};

/* A VM of the same needs failed that was easier to place. */
static bool is_hopeless(const struct search *s, const struct failed *failed,
	const struct state_vm *vm)
{
	for (size_t i = 0; i < failed->count; i++) {
		const struct state_vm *other = failed->list[i];

		if (other->class == vm->class && other->cores <= vm->cores &&
			other->memory <= vm->memory &&
			vm->memory < 1.1 * other->memory &&
			classes_is_plain(s->state, vm->vm->pod) &&
			classes_is_plain(s->state, other->vm->pod)) {
			return true;
		}
	}
	return false;
}

static void note_failure(struct failed *failed, const struct state_vm *vm)
{
	if (failed->count < count_of(failed->list)) {
		failed->list[failed->count++] = vm;
	}
}

/* Another VM leaves the want's node. */
static bool make_room(struct search *s, struct want *want, size_t left,
	size_t node)
{
	const struct state_node *at = &s->state->nodes[want->node];
	size_t spare = left - pending(want);
	struct shortfall shortfall;
	struct failed failed = { .count = 0 };

	shortfall_of(&shortfall, want->pod, at->node, &s->options,
		s->state->input->now_us);
	s->work += 1 + at->vm_count / 8;
	if (!can_suffice(s, want, &shortfall, STATE_NONE, spare) ||
		(spare > 1 && !is_possible(s, want))) {
		return false;
	}
	for (size_t i = want->first; i < at->vm_count; i++) {
		const struct state_vm *vm = &s->state->vms[at->vm_list[i]];
		bool had_best = s->best.is_found;

		if (is_hopeless(s, &failed, vm) ||
			!search_may_leave(s, at->vm_list[i])) {
			continue;
		}
		if (try_vm(s, want, i, &shortfall, left, node)) {
			return true;
		}
		if (!had_best && !s->best.is_found) {
			note_failure(&failed, vm);
		}
	}
	return false;
}

/* Does all wants with at most `left` moves. True: the search ends. */
static bool reach(struct search *s, struct want *want, size_t left, size_t node)
{
	uint64_t reasons;
	bool is_over = false;

	if (want == NULL) {
		return arrive(s, node);
	}
	if (must_end(s) || s->depth + 2 >= SEARCH_DEPTH_MAX) {
		return true;
	}
	reasons = search_admits(s, want);
	s->depth++;
	if (reasons == 0) {
		is_over = do_want(s, want, left, node);
	} else if ((reasons & SEARCH_HOPELESS) == 0 && left > pending(want) &&
		s->state->nodes[want->node].aside == NULL) {
		s->depth--;
		is_over = make_room(s, want, left, node);
		s->depth++;
	}
	s->depth--;
	return is_over;
}

void search_want(struct search *s, struct want *want, size_t moves)
{
	(void)reach(s, want, moves, STATE_NONE);
}

void search_leave(struct search *s, size_t vm, enum want_kind kind,
	size_t moves)
{
	struct departure departure = { .search = s,
		.want = { .kind = kind,
			.vm = vm,
			.pod = s->state->vms[vm].vm->pod },
		.left = moves,
		.goal_node = STATE_NONE,
		.pushes = moves - (kind == WANT_MOVE ? 1 : 0) };

	(void)depart(&departure);
}

void search_keep(struct search *s)
{
	struct found *best = &s->best;

	for (size_t i = s->state->step_count; i < best->count; i++) {
		state_step(s->state, best->vms[i], best->targets[i],
			best->kinds[i]);
	}
	best->is_found = false;
	best->count = 0;
}
