#include "scheduler/plan/plan.h"

#include "lib/memory.h"
#include "scheduler/plan/search.h"
#include "scheduler/plan/state.h"
#include "scheduler/plan/vm_goals.h"
#include "scheduler/plan/words.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the pod fits ---- */

/* The least loaded node that admits the pod. */
static size_t find_node(struct search *s, const struct pod *pod)
{
	for (size_t i = 0; i < s->state->node_count; i++) {
		struct want want = { .kind = WANT_POD,
			.pod = pod,
			.node = s->state->by_load[i] };

		if (search_admits(s, &want) == 0) {
			return want.node;
		}
	}
	return STATE_NONE;
}

/* With more moves than this, the first plan is taken. */
enum { THOROUGH_MOVES = 3 };

/* No node takes more than this part of the work that is left, unless that is
 * less than a little. */
enum { NODE_PART = 20, NODE_LEAST = 20000 };

static void find_moves(struct search *s, const struct pod *pod, size_t moves)
{
	s->ends_at_first = moves > THOROUGH_MOVES;
	for (size_t i = 0; i < s->state->node_count; i++) {
		struct want want = { .kind = WANT_POD,
			.vm = STATE_NONE,
			.pod = pod,
			.node = s->state->by_name[i] };

		search_limit(s, NODE_PART, NODE_LEAST);
		search_want(s, &want, moves);
		if (s->is_cut || (s->ends_at_first && s->best.is_found)) {
			return;
		}
	}
}

static void tell_node(struct buffer *words, struct search *s,
	const struct pod *pod, size_t node)
{
	struct want want = { .kind = WANT_POD, .pod = pod, .node = node };

	words_pod(words, pod);
	buffer_printf(words, " fits on %s", s->state->nodes[node].node->name);
	if (s->state->moves == 0) {
		words_once_left(words, s, &want);
	}
	words_steps(words, s->state);
}

static void find_pod(struct plan *out, struct search *s,
	const struct plan_goal *goal, struct buffer *words)
{
	size_t most = s->state->input->max_moves;
	size_t node = find_node(s, goal->pod);

	for (size_t i = 1; i <= most && node == STATE_NONE && !s->is_cut; i++) {
		find_moves(s, goal->pod, i);
		if (s->best.is_found) {
			node = s->best.node;
			search_keep(s);
		}
	}
	out->is_found = node != STATE_NONE;
	if (out->is_found) {
		out->node = (ptrdiff_t)node;
		tell_node(words, s, goal->pod, node);
		return;
	}
	buffer_text(words, "no plan of ");
	words_moves(words, most);
	buffer_text(words, " was found that makes ");
	words_pod(words, goal->pod);
	buffer_text(words, " fit: ");
	words_closest(words, s, goal->pod);
}

/* ---- all goals ---- */

static void copy_plan(struct plan *out, struct search *s)
{
	struct state *state = s->state;

	out->count = state->step_count;
	out->moves = state->moves;
	out->steps = xmemdup(state->steps,
		(state->step_count + 1) * sizeof(*state->steps));
	out->left = take_ptr(state->left);
	out->left_count = state->left_count;
	state->left_count = 0;
	out->work = s->work;
	out->is_cut_off = (s->is_cut || s->was_short) && !out->is_found;
}

static void copy_words(struct plan *out, struct buffer *words)
{
	if (out->is_cut_off) {
		buffer_text(words, "; the search ended at its limit");
	}
	(void)snprintf(out->sentence, sizeof(out->sentence), "%s",
		words->data == NULL ? "" : words->data);
}

void plan_find(struct plan *out, const struct plan_input *input,
	const struct plan_goal *goal)
{
	scoped_buffer struct buffer words = BUFFER_MAX(1 << 16);
	struct state state;
	struct search search;

	*out = (struct plan){ .node = PLAN_NOWHERE };
	state_begin(&state, input, goal);
	search_begin(&search, &state, goal);
	switch (goal->kind) {
	case PLAN_POD_FITS:
		find_pod(out, &search, goal, &words);
		break;
	case PLAN_NODE_EMPTY:
		out->is_found = vm_goals_empty(&search, goal, &words);
		break;
	case PLAN_NODE_DRAINED:
		out->is_found = vm_goals_drained(&search, goal, &words);
		break;
	case PLAN_VM_ELSEWHERE:
		out->is_found = vm_goals_elsewhere(&search, goal, &words);
		break;
	case PLAN_NODES_GONE:
		out->is_found = vm_goals_gone(&search, goal, &words);
		break;
	}
	copy_plan(out, &search);
	copy_words(out, &words);
	search_end(&search);
	state_end(&state);
}

void plan_fini(struct plan *plan)
{
	for (size_t i = 0; i < plan->left_count; i++) {
		free(plan->left[i].why);
	}
	free(plan->left);
	free(plan->steps);
	*plan = (struct plan){ 0 };
}
