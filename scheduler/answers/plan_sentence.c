#include "scheduler/answers/plan_sentence.h"

#include <string.h>

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

static void name_target(struct buffer *out, const struct plan_result *result)
{
	const struct plan_step *last = NULL;

	for (size_t i = 0; i < result->plan.count; i++) {
		const struct pod *pod = result->plan.steps[i].pod;

		if (strcmp(pod->namespace, result->question->namespace) == 0 &&
			strcmp(pod->vm_name, result->question->name) == 0) {
			last = &result->plan.steps[i];
		}
	}
	if (last != NULL) {
		buffer_printf(out, " for %s",
			result->input->cluster->nodes[last->target]->name);
	}
}

static void tell_found(struct buffer *out, const struct plan_result *result)
{
	const struct plan_question *q = result->question;

	switch (q->goal) {
	case GOAL_EVACUATE:
		buffer_printf(out, "all VMs leave %s", q->nodes[0]);
		break;
	case GOAL_NODES_GONE:
		buffer_printf(out, "all VMs of %zu node%s start elsewhere",
			q->node_count, plural(q->node_count));
		break;
	case GOAL_MOVE:
		buffer_printf(out, "%s/%s leaves its node", q->namespace,
			q->name);
		name_target(out, result);
		break;
	case GOAL_MAKE_ROOM:
	case GOALS:
		buffer_printf(out, "%s/%s fits on %s", q->namespace, q->name,
			result->plan.node == PLAN_NOWHERE
				? "a node"
				: result->input->cluster
					  ->nodes[result->plan.node]
					  ->name);
		break;
	}
}

/* Why the goal's own VM must stay, if it must. */
static void tell_why_not(struct buffer *out, const struct plan_result *result)
{
	const struct plan_question *q = result->question;

	for (size_t i = 0; i < result->input->vm_count; i++) {
		const struct plan_vm *vm = &result->input->vms[i];

		if (vm->why_not != NULL &&
			strcmp(vm->pod->namespace, q->namespace) == 0 &&
			strcmp(vm->pod->vm_name, q->name) == 0) {
			buffer_printf(out, ": it %s", vm->why_not);
			return;
		}
	}
}

static void tell_not_found(struct buffer *out, const struct plan_result *result)
{
	const struct plan_question *q = result->question;
	size_t left = result->plan.left_count;

	switch (q->goal) {
	case GOAL_EVACUATE:
		buffer_printf(out, "%zu VM%s of %s stay%s", left, plural(left),
			q->nodes[0], left == 1 ? "s" : "");
		break;
	case GOAL_NODES_GONE:
		buffer_printf(out, "%zu VM%s found no place", left,
			plural(left));
		break;
	case GOAL_MOVE:
		buffer_printf(out, "no plan was found that moves %s/%s",
			q->namespace, q->name);
		tell_why_not(out, result);
		break;
	case GOAL_MAKE_ROOM:
	case GOALS:
		buffer_printf(out, "no plan was found that makes %s/%s fit",
			q->namespace, q->name);
		break;
	}
}

static void tell_moves(struct buffer *out, const struct plan_result *result)
{
	const struct plan_hidden hidden = plan_tally_hidden(result);
	size_t moves = result->plan.moves;

	if (moves > 0) {
		buffer_printf(out, "; %zu move%s in %u wave%s", moves,
			plural(moves), result->wave_count,
			plural(result->wave_count));
	}
	if (hidden.vms > 0) {
		buffer_printf(out,
			"; %zu VM%s of other namespaces %s not named",
			hidden.vms, plural(hidden.vms),
			hidden.vms == 1 ? "is" : "are");
	}
	if (result->plan.is_cut_off) {
		buffer_text(out, "; the search ended at its limit");
	}
}

void plan_sentence(struct buffer *out, const struct plan_result *result)
{
	if (result->question->is_visible) {
		buffer_text(out, result->plan.sentence);
		return;
	}
	if (result->plan.is_found) {
		tell_found(out, result);
	} else {
		tell_not_found(out, result);
	}
	tell_moves(out, result);
}
