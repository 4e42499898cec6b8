#include "scheduler/plan/search.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- wants ---- */

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
	if (!want_has_vm(want)) {
		return search_reach(s, want->below, left, node);
	}
	state_step(s->state, want->vm, want->node,
		want->kind == WANT_MOVE ? PLAN_MOVE : PLAN_START);
	is_over = search_reach(s, want->below,
		left - (want->kind == WANT_MOVE ? 1 : 0), node);
	state_undo_step(s->state);
	return is_over;
}

/* The node admits the want's pod without this VM. */
static bool suffices(struct search *s, const struct want *want, size_t vm)
{
	bool is_enough;

	s->work++;
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

/* ---- what VMs free ---- */

/* The most that VMs of the node free with some number of moves, for each amount
 * that is short. */
struct relief {
	double most[SHORTFALL_MAX][PLAN_MOVES_MAX + 1];
};

/* As much of it as the amounts and moves need. */
static void clear_relief(struct relief *relief, size_t amounts, size_t moves)
{
	for (size_t i = 0; i < amounts; i++) {
		memset(relief->most[i], 0, (moves + 1) * sizeof(double));
	}
}

/* The VM frees its share for `cost` of at most `moves` moves. */
static void add_share(double *most, double share, size_t cost, size_t moves)
{
	for (size_t k = moves; k >= cost; k--) {
		if (most[k - cost] + share > most[k]) {
			most[k] = most[k - cost] + share;
		}
	}
}

static void add_relief(struct relief *relief, const struct shortfall *shortfall,
	const struct state_vm *vm, size_t cost, size_t moves)
{
	for (size_t i = 0; i < shortfall->count; i++) {
		add_share(relief->most[i], shortfall_share(shortfall, i, vm),
			cost, moves);
	}
}

/* VMs that are read at the cost of one filter. */
enum { VMS_PER_WORK = 8 };

/* The VM `with` and, by `moves` moves, VMs from a position on free enough. */
static bool can_suffice(struct search *s, const struct want *want,
	const struct shortfall *shortfall, size_t with, size_t moves)
{
	const struct state_node *at = &s->state->nodes[want->node];
	struct relief relief;

	s->work += 1 + (at->vm_count - want->first) / VMS_PER_WORK;
	clear_relief(&relief, shortfall->count, moves);
	for (size_t k = want->first; k < at->vm_count && moves > 0; k++) {
		size_t vm = at->vm_list[k];
		size_t pushes;

		if (vm == with || !search_may_leave(s, vm)) {
			continue;
		}
		pushes = search_pushes(s, vm, moves - 1);
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
	return search_reach(s, &d->want, d->left, d->goal_node);
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
	const struct class_nodes *list = search_list(s, d->want.vm, pushes);

	for (size_t i = 0; i < list->count; i++) {
		if (list->list[i] == s->state->vms[d->want.vm].vm->node) {
			continue;
		}
		d->want.node = list->list[i];
		d->want.first = 0;
		if (search_reach(s, &d->want, d->left, d->goal_node)) {
			return true;
		}
	}
	return false;
}

static bool try_listed(struct departure *d)
{
	const struct class_nodes *list = search_list(d->search, d->want.vm, 0);
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
	s->busy[s->busy_count++] = d->want.vm;
	s->depth++;
	is_over = s->state->node_count <= SEARCH_SMALL ? try_small(d)
						       : try_listed(d);
	s->depth--;
	s->busy_count--;
	*is_busy = false;
	return is_over;
}

/* ---- making room ---- */

/* No plan with this VM is better than the best. */
static bool is_too_big(const struct search *s, size_t vm)
{
	return s->best.is_found && !s->is_probing &&
		search_memory(s->state) + s->state->vms[vm].memory >
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
	pushes = search_pushes(s, vm, spare);
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
			vm->measured <= 1.1 * other->measured &&
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
	s->work++;
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
bool search_reach(struct search *s, struct want *want, size_t left, size_t node)
{
	uint64_t reasons;
	bool is_over = false;

	if (want == NULL) {
		return search_arrive(s, node);
	}
	if (s->depth + 2 >= SEARCH_DEPTH_MAX) {
		s->was_short = true;
		return true;
	}
	if (search_must_end(s)) {
		return true;
	}
	reasons = search_admits(s, want);
	s->depth++;
	if (reasons == 0) {
		is_over = do_want(s, want, left, node);
	} else if ((reasons & SEARCH_HOPELESS) == 0 && left > pending(want) &&
		s->state->nodes[want->node].exclusion == NULL) {
		s->depth--;
		is_over = make_room(s, want, left, node);
		s->depth++;
	}
	s->depth--;
	return is_over;
}

void search_want(struct search *s, struct want *want, size_t moves)
{
	(void)search_reach(s, want, moves, STATE_NONE);
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
