#include "scheduler/plan/words.h"

#include "lib/memory.h"

#include <inttypes.h>
#include <stdlib.h>

/* Filters that are computed to find the closest node: a part of the search's
 * limit, but no more and no fewer than these. */
enum { CLOSEST_PART = 20, CLOSEST_LEAST = 1000, CLOSEST_MOST = 100000 };

/* VMs that are read at the cost of one filter. */
enum { VMS_PER_WORK = 8 };

void words_pod(struct buffer *out, const struct pod *pod)
{
	buffer_printf(out, "%s/%s", pod->namespace,
		*pod->vm_name != '\0' ? pod->vm_name : pod->name);
}

void words_moves(struct buffer *out, size_t moves)
{
	buffer_printf(out, "%zu move%s", moves, moves == 1 ? "" : "s");
}

void words_steps(struct buffer *out, const struct state *state)
{
	size_t told = 0;

	if (state->moves == 0) {
		return;
	}
	buffer_text(out, " after ");
	words_moves(out, state->moves);
	for (size_t i = 0; i < state->step_count; i++) {
		const struct plan_step *step = &state->steps[i];

		if (step->kind != PLAN_MOVE || told >= WORDS_NAMES_MAX) {
			continue;
		}
		buffer_text(out, told++ == 0 ? ": " : ", ");
		words_pod(out, step->pod);
		buffer_printf(out, " to %s",
			state->nodes[step->target].node->name);
	}
	if (state->moves > told) {
		buffer_printf(out, " and %zu more", state->moves - told);
	}
}

/* ---- VMs that are leaving ---- */

static void tell_leaving(struct buffer *out, const struct search *s, size_t vm,
	size_t *told)
{
	if (*told < WORDS_NAMES_MAX) {
		buffer_text(out, *told == 0 ? " once " : ", ");
		words_pod(out, s->state->vms[vm].vm->pod);
	}
	(*told)++;
}

static void tell_left(struct buffer *out, size_t told)
{
	if (told > WORDS_NAMES_MAX) {
		buffer_printf(out, " and %zu more", told - WORDS_NAMES_MAX);
	}
	buffer_text(out,
		told == 0	    ? ""
			: told == 1 ? " has left"
				    : " have left");
}

/* VMs come back one by one, and stay if the node still admits the pod. */
static void bring_back(struct buffer *out, struct search *s,
	const struct want *want, size_t node, size_t *told)
{
	const struct state_node *at = &s->state->nodes[node];

	for (size_t i = 0; i < at->vm_count; i++) {
		size_t vm = at->vm_list[i];

		if (!s->state->vms[vm].vm->is_leaving) {
			continue;
		}
		state_bring_back(s->state, vm);
		if (search_admits(s, want) != 0) {
			state_take_off(s->state, vm);
			tell_leaving(out, s, vm, told);
		}
	}
}

void words_once_left(struct buffer *out, struct search *s,
	const struct want *want)
{
	size_t told = 0;

	for (size_t i = 0;
		i < s->state->node_count && !state_is_stopped(s->state); i++) {
		bring_back(out, s, want, s->state->by_name[i], &told);
	}
	tell_left(out, told);
}

void words_once_empty(struct buffer *out, const struct search *s, size_t node)
{
	const struct state_node *at = &s->state->nodes[node];
	size_t told = 0;

	for (size_t i = 0; i < at->vm_count; i++) {
		if (s->state->vms[at->vm_list[i]].vm->is_leaving) {
			tell_leaving(out, s, at->vm_list[i], &told);
		}
	}
	tell_left(out, told);
}

/* ---- reasons ---- */

void words_reasons(struct buffer *out, struct search *s, const struct pod *pod,
	uint64_t reasons)
{
	struct prefilter prefilter = { .pod = pod,
		.refusal = s->ready[s->depth].filter.prefilter.refusal };
	const char *comma = "";

	for (unsigned i = 0; i < 62; i++) {
		char text[FILTER_REASON_TEXT_MAX];

		if ((reasons >> i & 1) != 0) {
			buffer_printf(out, "%s%s", comma,
				filter_reason_text(text, sizeof(text),
					&prefilter, i));
			comma = ", ";
		}
	}
	if ((reasons & SEARCH_LOAD) != 0) {
		buffer_printf(out, "%snode(s) expected above %.0f %%", comma,
			100 * s->state->input->max_load);
		comma = ", ";
	}
	if ((reasons & SEARCH_EXCLUDED) != 0) {
		buffer_printf(out, "%snode(s) that take no VM now", comma);
	}
}

void words_why_fixed(struct buffer *out, const struct search *s, size_t index)
{
	const struct state_vm *vm = &s->state->vms[index];
	const char *exclusion = s->state->nodes[vm->vm->node].exclusion;

	if (vm->vm->why_not != NULL) {
		buffer_text(out, vm->vm->why_not);
	} else if (s->goal != NULL &&
		vm->vm->pod->priority >= s->goal->priority) {
		buffer_text(out, "has no lower priority");
	} else if (exclusion != NULL) {
		buffer_printf(out, "runs on a node that %s", exclusion);
	} else {
		buffer_text(out, "moves already");
	}
}

void words_fixed(struct buffer *out, const struct search *s, size_t index)
{
	words_pod(out, s->state->vms[index].vm->pod);
	buffer_char(out, ' ');
	words_why_fixed(out, s, index);
}

/* ---- the closest node ---- */

/* The state of a node without the VMs that help most. */
struct closest {
	bool is_known;
	size_t node;
	size_t vms[PLAN_MOVES_MAX];
	size_t count;
	uint64_t reasons;
	double distance; /* shares of the amounts that are short; 0: it fits */
};

/* The words have no time left. */
static bool must_end(const struct search *s)
{
	return state_is_stopped(s->state) || s->work >= s->quota;
}

static void limit_words(struct search *s)
{
	uint64_t work = s->limit / CLOSEST_PART;

	work = work < CLOSEST_LEAST ? CLOSEST_LEAST : work;
	s->quota = s->work + (work > CLOSEST_MOST ? CLOSEST_MOST : work);
}

static double distance_of(struct search *s, const struct want *want,
	uint64_t reasons, struct shortfall *shortfall)
{
	const struct node *node = s->state->nodes[want->node].node;
	double distance = reasons == 0 ? 0 : 1;

	shortfall_of(shortfall, want->pod, node, &s->options,
		s->state->input->now_us);
	for (size_t i = 0; i < shortfall->count && reasons != 0; i++) {
		distance += shortfall->list[i].amount /
			((double)want->pod->requests.memory_bytes + 1) / 1e6;
	}
	return distance;
}

static double help_of(const struct search *s, const struct shortfall *shortfall,
	size_t vm)
{
	double help = 0;

	for (size_t i = 0; i < shortfall->count; i++) {
		double share =
			shortfall_share(shortfall, i, &s->state->vms[vm]) /
			shortfall->list[i].amount;

		help += share < 1 ? share : 1;
	}
	return help;
}

/* The VM whose leaving helps most; STATE_NONE: none may leave. */
static size_t best_help(struct search *s, const struct want *want,
	const struct shortfall *shortfall)
{
	const struct state_node *at = &s->state->nodes[want->node];
	size_t best = STATE_NONE;
	double most = -1;

	s->work += at->vm_count / VMS_PER_WORK;
	for (size_t i = 0; i < at->vm_count && !must_end(s); i++) {
		size_t vm = at->vm_list[i];
		double help;

		if (!search_may_leave(s, vm)) {
			continue;
		}
		help = help_of(s, shortfall, vm);
		if (shortfall->count == 0) {
			state_take_off(s->state, vm);
			help = search_admits(s, want) == 0 ? 1 : 0;
			state_put_back(s->state, vm);
		}
		if (help > most) {
			most = help;
			best = vm;
		}
	}
	return best;
}

static void look_at(struct search *s, struct want *want, struct closest *out)
{
	struct shortfall shortfall;
	size_t most = s->state->input->max_moves;

	*out = (struct closest){ .is_known = true, .node = want->node };
	out->reasons = search_admits(s, want);
	out->distance = distance_of(s, want, out->reasons, &shortfall);
	if ((out->reasons & SEARCH_HOPELESS) != 0) {
		out->distance += 1e6;
		return;
	}
	while (out->reasons != 0 && out->count < most && !must_end(s)) {
		size_t vm = best_help(s, want, &shortfall);

		if (vm == STATE_NONE) {
			break;
		}
		state_take_off(s->state, vm);
		out->vms[out->count++] = vm;
		out->reasons = search_admits(s, want);
		out->distance = distance_of(s, want, out->reasons, &shortfall);
	}
	for (size_t i = out->count; i > 0; i--) {
		state_put_back(s->state, out->vms[i - 1]);
	}
	out->distance += 1e-9 * (double)out->count;
}

static void find_closest(struct search *s, const struct pod *pod,
	struct closest *out)
{
	*out = (struct closest){ 0 };
	for (size_t i = 0; i < s->state->node_count && !must_end(s); i++) {
		struct want want = { .kind = WANT_POD,
			.pod = pod,
			.node = s->state->by_name[i] };
		struct closest here;

		if (s->state->nodes[want.node].is_gone) {
			continue;
		}
		look_at(s, &want, &here);
		if (!out->is_known || here.distance < out->distance) {
			*out = here;
		}
	}
}

/* VMs that stay, and why. */
static void tell_fixed(struct buffer *out, const struct search *s, size_t node)
{
	const struct state_node *at = &s->state->nodes[node];
	size_t told = 0;

	for (size_t i = 0; i < at->vm_count; i++) {
		size_t vm = at->vm_list[i];

		if (s->state->vms[vm].node == STATE_NONE ||
			search_may_leave(s, vm)) {
			continue;
		}
		if (told++ < 3) {
			buffer_text(out, "; ");
			words_fixed(out, s, vm);
		}
	}
	if (told > 3) {
		buffer_printf(out, "; and %zu more stay", told - 3);
	}
}

static void tell_targets(struct buffer *out, struct search *s,
	const struct closest *closest)
{
	buffer_text(out, " without ");
	for (size_t i = 0; i < closest->count; i++) {
		buffer_text(out, i == 0 ? "" : ", ");
		words_pod(out, s->state->vms[closest->vms[i]].vm->pod);
	}
	buffer_text(out, ", but ");
	for (size_t i = 0; i < closest->count; i++) {
		if (must_end(s)) {
			buffer_text(out, "there was no time to find them room");
			return;
		}
		if (!search_has_room(s, closest->vms[i])) {
			words_no_target(out, s, closest->vms[i], WANT_MOVE);
			return;
		}
	}
	buffer_text(out, "not all of them find room elsewhere");
}

void words_closest(struct buffer *out, struct search *s, const struct pod *pod)
{
	struct closest closest;

	limit_words(s);
	find_closest(s, pod, &closest);
	if (!closest.is_known) {
		buffer_text(out,
			s->state->node_count == 0
				? "there is no node"
				: "there was no time to look for the closest "
				  "node");
		return;
	}
	buffer_printf(out, "%s comes closest, where ",
		s->state->nodes[closest.node].node->name);
	if (closest.reasons == 0) {
		buffer_text(out, "it would fit");
		tell_targets(out, s, &closest);
		return;
	}
	words_moves(out, closest.count);
	buffer_printf(out, " leave%s ", closest.count == 1 ? "s" : "");
	words_reasons(out, s, pod, closest.reasons);
	if ((closest.reasons & SEARCH_HOPELESS) == 0) {
		tell_fixed(out, s, closest.node);
	}
}
