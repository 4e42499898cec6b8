#include "scheduler/plan/vm_goals.h"

#include "lib/memory.h"
#include "scheduler/plan/words.h"

#include <stdlib.h>
#include <string.h>

/* Other VMs that may be pushed for one VM of many. */
enum { PUSHES_MAX = 2 };

/* No VM takes more than this part of the work that is left. */
enum { VM_PART = 4, VM_LEAST = 20000 };

/* Orders of the VMs that are tried: a VM that found no room comes first in the
 * next one. */
enum { ROUNDS_MAX = 8 };

static size_t moves_left(const struct search *s)
{
	size_t most = s->state->input->max_moves;

	return s->state->moves < most ? most - s->state->moves : 0;
}

/* The VM goes to another node with as few moves as possible. */
static bool place(struct search *s, size_t vm, enum want_kind kind, size_t most)
{
	size_t own = kind == WANT_MOVE ? 1 : 0;

	classes_order(&s->classes, s->state);
	for (size_t i = own; i <= most && !search_is_over(s); i++) {
		search_limit(s, VM_PART, VM_LEAST);
		search_leave(s, vm, kind, i);
		if (s->best.is_found) {
			search_keep(s);
			return true;
		}
	}
	return false;
}

/* ---- a VM ---- */

static size_t find_vm(const struct state *state, const struct pod *pod)
{
	size_t i = 0;

	while (i < state->vm_count &&
		strcmp(state->vms[i].vm->pod->uid, pod->uid) != 0) {
		i++;
	}
	return i;
}

bool vm_goals_elsewhere(struct search *s, const struct plan_goal *goal,
	struct buffer *words)
{
	const struct state *state = s->state;
	size_t vm = find_vm(state, goal->pod);

	if (vm == state->vm_count) {
		words_pod(words, goal->pod);
		buffer_text(words, " does not run");
		return false;
	}
	s->open = state->vms[vm].vm->node;
	if (state->vms[vm].vm->is_leaving) {
		words_pod(words, goal->pod);
		buffer_printf(words, " leaves %s already",
			state->nodes[s->open].node->name);
		return true;
	}
	if (!search_may_leave(s, vm)) {
		words_fixed(words, s, vm);
		return false;
	}
	if (place(s, vm, WANT_MOVE, state->input->max_moves)) {
		words_pod(words, goal->pod);
		buffer_printf(words, " leaves %s",
			state->nodes[s->open].node->name);
		words_steps(words, state);
		return true;
	}
	buffer_text(words, "no plan of ");
	words_moves(words, state->input->max_moves);
	buffer_text(words, " was found that moves ");
	words_pod(words, goal->pod);
	buffer_text(words, " elsewhere: ");
	words_no_target(words, s, vm, WANT_MOVE);
	return false;
}

/* ---- a list of VMs ---- */

struct vm_list {
	size_t *vms; /* owned */
	size_t count;
	size_t failed;	/* the first of them that found no room */
	bool was_tried; /* it had its turn */
};

static int compare_sizes(const struct state *state, size_t a, size_t b)
{
	const struct pod *left = state->vms[a].vm->pod;
	const struct pod *right = state->vms[b].vm->pod;
	int r;

	if (left->requests.memory_bytes != right->requests.memory_bytes) {
		return left->requests.memory_bytes >
				right->requests.memory_bytes
			? -1
			: 1;
	}
	if (left->requests.cpu_milli != right->requests.cpu_milli) {
		return left->requests.cpu_milli > right->requests.cpu_milli ? -1
									    : 1;
	}
	r = strcmp(left->namespace, right->namespace);
	r = r != 0 ? r : strcmp(left->name, right->name);
	return r != 0 ? r : strcmp(left->uid, right->uid);
}

static int by_size(const void *a, const void *b, void *owner)
{
	return compare_sizes(owner, *(const size_t *)a, *(const size_t *)b);
}

static int by_priority(const void *a, const void *b, void *owner)
{
	const struct state *state = owner;
	int32_t left = state->vms[*(const size_t *)a].vm->pod->priority;
	int32_t right = state->vms[*(const size_t *)b].vm->pod->priority;

	return left != right ? (left < right) - (left > right)
			     : by_size(a, b, owner);
}

static void undo_all(struct search *s)
{
	while (s->state->step_count > 0) {
		state_undo_step(s->state);
	}
}

/* Says why the VM that failed did so. */
static void tell_failed(struct buffer *words, struct search *s,
	const struct vm_list *list, enum want_kind kind)
{
	size_t vm = list->vms[list->failed];

	if (list->was_tried) {
		words_no_target(words, s, vm, kind);
	} else {
		words_not_tried(words, s, vm);
	}
}

/* Moves the VM at a position to the front. */
static void put_first(struct vm_list *list, size_t position)
{
	size_t vm = list->vms[position];

	memmove(&list->vms[1], &list->vms[0], position * sizeof(size_t));
	list->vms[0] = vm;
}

/* ---- a node ---- */

/* Leaves moves for the VMs behind. */
static size_t moves_for(const struct search *s, const struct vm_list *list,
	size_t position)
{
	size_t behind = list->count - position - 1;
	size_t left = moves_left(s);
	size_t most = left > behind ? left - behind : 0;

	return most > PUSHES_MAX + 1 ? PUSHES_MAX + 1 : most;
}

/* All VMs of the list leave, in its order. */
static bool leave_all(struct search *s, struct vm_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		list->was_tried = !search_is_over(s);
		if (!place(s, list->vms[i], WANT_MOVE, moves_for(s, list, i))) {
			list->failed = i;
			return false;
		}
	}
	return true;
}

static bool is_listed(const struct state *state, const struct state_node *at,
	const struct pod *pod)
{
	for (size_t i = 0; i < at->vm_count; i++) {
		if (state->vms[at->vm_list[i]].vm->pod == pod) {
			return true;
		}
	}
	return false;
}

static int compare_pods(const struct pod *a, const struct pod *b)
{
	int r = strcmp(a->namespace, b->namespace);

	return r != 0 ? r : strcmp(a->name, b->name);
}

/* The first by name of the pods there in which a VM is about to run: targets of
 * migrations, and places that are held. NULL: none. */
static const struct pod *find_arriving(const struct state *state,
	const struct state_node *at)
{
	const struct pod *first = NULL;

	for (size_t i = 0; i < at->node->pod_count; i++) {
		const struct pod *pod = at->node->pods[i].pod;

		if (pod->is_vm && !is_listed(state, at, pod) &&
			(first == NULL || compare_pods(pod, first) < 0)) {
			first = pod;
		}
	}
	return first;
}

static bool list_leaving(struct search *s, size_t node, struct vm_list *out,
	struct buffer *words)
{
	const struct state_node *at = &s->state->nodes[node];
	const struct pod *arriving = find_arriving(s->state, at);

	if (arriving != NULL) {
		buffer_printf(words, "%s cannot be emptied: ", at->node->name);
		words_pod(words, arriving);
		buffer_printf(words, " is on its way to %s", at->node->name);
		return false;
	}

	out->vms = xcalloc(at->vm_count + 1, sizeof(size_t));
	for (size_t i = 0; i < at->vm_count; i++) {
		size_t vm = at->vm_list[i];

		if (s->state->vms[vm].node == STATE_NONE) {
			continue;
		}
		if (!search_may_leave(s, vm)) {
			buffer_printf(words,
				"%s cannot be emptied: ", at->node->name);
			words_fixed(words, s, vm);
			return false;
		}
		out->vms[out->count++] = vm;
	}
	qsort_r(out->vms, out->count, sizeof(size_t), by_size, s->state);
	return true;
}

static void tell_empty(struct buffer *words, struct search *s, size_t node)
{
	buffer_printf(words, "%s is empty", s->state->nodes[node].node->name);
	if (s->state->moves == 0) {
		words_once_empty(words, s, node);
	}
	words_steps(words, s->state);
}

static void tell_not_empty(struct buffer *words, struct search *s,
	const struct vm_list *list, const char *name)
{
	const struct state *state = s->state;

	buffer_text(words, "no plan of ");
	words_moves(words, state->input->max_moves);
	buffer_printf(words, " was found that empties %s: after ", name);
	words_moves(words, state->moves);
	buffer_text(words, ", ");
	tell_failed(words, s, list, WANT_MOVE);
}

static bool empty(struct search *s, struct vm_list *list, size_t node,
	struct buffer *words)
{
	const struct state *state = s->state;
	const char *name = state->nodes[node].node->name;

	if (list->count > state->input->max_moves) {
		buffer_printf(words, "%s has %zu VMs, and a plan has ", name,
			list->count);
		words_moves(words, state->input->max_moves);
		buffer_text(words, " at most");
		return false;
	}
	for (size_t round = 1; !search_is_over(s); round++) {
		if (leave_all(s, list)) {
			tell_empty(words, s, node);
			return true;
		}
		if (round == ROUNDS_MAX || list->failed == 0) {
			tell_not_empty(words, s, list, name);
			undo_all(s);
			return false;
		}
		undo_all(s);
		put_first(list, list->failed);
	}
	buffer_printf(words, "%s cannot be emptied in time", name);
	return false;
}

bool vm_goals_empty(struct search *s, const struct plan_goal *goal,
	struct buffer *words)
{
	struct vm_list list = { 0 };
	size_t node = goal->nodes[0];
	bool is_empty;

	s->closed = node;
	s->open = node;
	s->ends_at_first = true;
	is_empty = list_leaving(s, node, &list, words) &&
		empty(s, &list, node, words);
	free(list.vms);
	return is_empty;
}

/* ---- a node, as far as it can be emptied ---- */

/* Further VMs that find no node are not told why: it takes a filter for each
 * node. */
enum { LEFT_EXPLAINED_MAX = 100, WHY_MAX = 2048 };

static void add_left(struct search *s, size_t vm, const char *why)
{
	const struct plan_vm *at = s->state->vms[vm].vm;

	state_leave_out(s->state,
		&(const struct plan_left){ at->pod, at->node, xstrdup(why) });
}

static void leave_out(struct search *s, size_t vm, enum want_kind kind,
	bool is_tried)
{
	scoped_buffer struct buffer why = BUFFER_MAX(WHY_MAX);
	const struct state *state = s->state;

	if (!is_tried) {
		buffer_text(&why, "was not tried in time");
	} else if (state->left_count >= LEFT_EXPLAINED_MAX) {
		buffer_text(&why, "finds no node");
	} else {
		words_why_no_target(&why, s, vm, kind);
	}
	add_left(s, vm, why.data);
}

static void leave_out_fixed(struct search *s, size_t vm)
{
	scoped_buffer struct buffer why = BUFFER_MAX(WHY_MAX);

	buffer_text(&why, "");
	words_why_fixed(&why, s, vm);
	add_left(s, vm, why.data);
}

/* Lists the VMs that may leave; the others are left out. */
static void list_drained(struct search *s, size_t node, struct vm_list *out)
{
	const struct state_node *at = &s->state->nodes[node];
	const struct pod *arriving = find_arriving(s->state, at);

	out->vms = xcalloc(at->vm_count + 1, sizeof(size_t));
	for (size_t i = 0; i < at->vm_count; i++) {
		size_t vm = at->vm_list[i];

		if (s->state->vms[vm].node == STATE_NONE) {
			continue;
		}
		if (search_may_leave(s, vm)) {
			out->vms[out->count++] = vm;
		} else {
			leave_out_fixed(s, vm);
		}
	}
	if (arriving != NULL) {
		state_leave_out(s->state,
			&(const struct plan_left){ arriving, node,
				xstrdup("is on its way to this node") });
	}
	qsort_r(out->vms, out->count, sizeof(size_t), by_size, s->state);
}

static void leave_one(struct search *s, const struct vm_list *list,
	size_t position)
{
	size_t most = moves_for(s, list, position);
	size_t vm = list->vms[position];
	bool is_tried;

	/* With more VMs than moves, the first ones get the moves. */
	most = most == 0 && moves_left(s) > 0 ? 1 : most;
	is_tried = most > 0 && !search_is_over(s);
	if (most == 0) {
		add_left(s, vm, "has its turn in the next plan");
	} else if (!place(s, vm, WANT_MOVE, most)) {
		leave_out(s, vm, WANT_MOVE, is_tried);
	}
}

bool vm_goals_drained(struct search *s, const struct plan_goal *goal,
	struct buffer *words)
{
	const struct state *state = s->state;
	struct vm_list list = { 0 };
	size_t node = goal->nodes[0];

	s->closed = node;
	s->open = node;
	s->ends_at_first = true;
	list_drained(s, node, &list);
	for (size_t i = 0; i < list.count; i++) {
		leave_one(s, &list, i);
	}
	free(list.vms);
	if (state->left_count == 0) {
		tell_empty(words, s, node);
		return true;
	}
	buffer_printf(words, "%zu VM%s of %s stay%s: ", state->left_count,
		state->left_count == 1 ? "" : "s",
		state->nodes[node].node->name,
		state->left_count == 1 ? "s" : "");
	words_pod(words, state->left[0].pod);
	buffer_printf(words, " %s", state->left[0].why);
	if (state->moves > 0) {
		buffer_text(words, "; the others leave");
		words_steps(words, state);
	}
	return false;
}

/* ---- nodes that are gone ---- */

static void list_starting(struct state *state, struct vm_list *out)
{
	out->vms = xcalloc(state->vm_count + 1, sizeof(size_t));
	for (size_t i = 0; i < state->vm_count; i++) {
		const struct plan_vm *vm = state->vms[i].vm;

		if (state->nodes[vm->node].is_gone) {
			out->vms[out->count++] = i;
		}
	}
	qsort_r(out->vms, out->count, sizeof(size_t), by_priority, state);
}

bool vm_goals_gone(struct search *s, const struct plan_goal *goal,
	struct buffer *words)
{
	struct state *state = s->state;
	struct vm_list list = { 0 };
	size_t started = 0;

	s->ends_at_first = true;
	list_starting(state, &list);
	for (size_t i = 0; i < list.count; i++) {
		size_t most = moves_left(s);
		bool is_tried = !search_is_over(s);

		if (place(s, list.vms[i], WANT_START,
			    most < PUSHES_MAX + 1 ? most : PUSHES_MAX + 1)) {
			started++;
			continue;
		}
		leave_out(s, list.vms[i], WANT_START, is_tried);
		if (started == i) {
			list.failed = i;
			list.was_tried = is_tried;
		}
	}
	if (started == list.count) {
		buffer_printf(words,
			"all %zu VMs of %zu node%s start elsewhere", list.count,
			goal->node_count, goal->node_count == 1 ? "" : "s");
		words_steps(words, state);
	} else {
		buffer_printf(words,
			"%zu of %zu VMs found no place: ", list.count - started,
			list.count);
		tell_failed(words, s, &list, WANT_START);
	}
	free(list.vms);
	return started == list.count;
}
