#include "scheduler/plan/search.h"

#include "lib/memory.h"
#include "scheduler/plan/state_order.h"

#include <stdlib.h>

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
	size_t count;
	bool was_probing, had_reached;
	uint64_t quota;
};

static void mark_busy(struct search *s, bool is_busy)
{
	for (size_t i = 0; i < s->busy_count; i++) {
		s->state->vms[s->busy[i]].is_busy = is_busy;
	}
}

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
	for (size_t i = 0; i < out->count; i++) {
		out->vms[i] = state->step_vms[i];
		out->targets[i] = state->steps[i].target;
		out->kinds[i] = state->steps[i].kind;
	}
	while (state->step_count > 0) {
		state_undo_step(state);
	}
	mark_busy(s, false);
	s->is_probing = true;
	s->quota = UINT64_MAX;
}

static void go_forward(struct search *s, struct rewound *from)
{
	struct state *state = s->state;

	mark_busy(s, true);
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
}

static bool probe(struct search *s, const struct class *class, size_t node,
	size_t moves)
{
	struct want want = { .kind = WANT_CLASS,
		.vm = STATE_NONE,
		.pod = &class->pod,
		.node = node };

	s->has_reached = false;
	(void)search_reach(s, &want, moves, STATE_NONE);
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
	out->order = s->classes.order;
	for (size_t i = 0; i < s->state->node_count && out->count < most &&
		!search_is_over(s);
		i++) {
		size_t node = s->state->by_load[i];

		if (s->state->nodes[node].exclusion == NULL &&
			probe(s, class, node, moves)) {
			list_node(out, node, most);
		}
	}
	go_forward(s, &rewound);
}

const struct class_nodes *search_list(struct search *s, size_t vm, size_t moves)
{
	size_t class = s->state->vms[vm].class;
	struct class_nodes *list = moves == 0
		? &s->classes.list[class].direct
		: &s->classes.list[class].pushed[moves - 1];

	if (!list->is_known) {
		fill_list(s, &s->classes.list[class], list, moves);
	} else if (list->order != s->classes.order) {
		state_order_some(s->state, list->list, list->count);
		list->order = s->classes.order;
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
size_t search_pushes(struct search *s, size_t vm, size_t most)
{
	if (s->state->node_count <= SEARCH_SMALL) {
		return 0;
	}
	for (size_t i = 0; i <= most && i <= CLASSES_PUSHES; i++) {
		const struct class_nodes *list = search_list(s, vm, i);

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
