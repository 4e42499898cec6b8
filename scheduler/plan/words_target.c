#include "scheduler/filter/host_demand.h"
#include "scheduler/plan/words.h"

void words_not_tried(struct buffer *out, const struct search *s, size_t vm)
{
	words_pod(out, s->state->vms[vm].vm->pod);
	buffer_text(out, " was not tried in time");
}

/* Nodes that do not take a VM, by reason. */
struct tally {
	size_t counts[64];
	struct host_demand_counts demands; /* not in counts[REASON_AFFINITY] */
};

static void count_node(struct tally *tally, const struct search *s, size_t node,
	uint64_t reasons)
{
	const uint64_t selector = FILTER_BIT(REASON_AFFINITY);

	if ((reasons & selector) != 0 &&
		host_demand_count(&tally->demands,
			&s->ready[s->depth].filter.pod,
			s->state->nodes[node].node)) {
		reasons &= ~selector;
	}
	for (unsigned k = 0; k < 64; k++) {
		tally->counts[k] += reasons >> k & 1;
	}
}

/* False: a node takes the VM, or nobody knows. */
static bool count_reasons(struct search *s, size_t vm, enum want_kind kind,
	struct tally *tally)
{
	const struct state *state = s->state;
	struct want want = { .kind = kind,
		.vm = vm,
		.pod = state->vms[vm].vm->pod };

	for (size_t i = 0; i < state->node_count; i++) {
		uint64_t reasons;

		want.node = i;
		if (state->nodes[i].is_gone || i == state->vms[vm].vm->node) {
			continue;
		}
		reasons = search_admits(s, &want);
		if (reasons == 0 || state_is_stopped(s->state)) {
			return false;
		}
		count_node(tally, s, i, reasons);
	}
	return true;
}

static void tell_counts(struct buffer *out, struct search *s,
	const struct pod *pod, const size_t counts[static 64],
	const char *comma)
{
	for (unsigned k = 0; k < 64; k++) {
		if (counts[k] > 0) {
			buffer_printf(out, "%s%zu ", comma, counts[k]);
			words_reasons(out, s, pod, UINT64_C(1) << k);
			comma = ", ";
		}
	}
}

/* ": 3 Insufficient memory" */
static void tell_tally(struct buffer *out, struct search *s,
	const struct pod *pod, const struct tally *tally)
{
	if (tally->demands.count == 0) {
		tell_counts(out, s, pod, tally->counts, ": ");
		return;
	}
	buffer_text(out, ": ");
	host_demand_tell_none(out, &tally->demands, true);
	buffer_text(out, " (");
	host_demand_tell_counts(out, &tally->demands);
	tell_counts(out, s, pod, tally->counts, ", ");
	buffer_char(out, ')');
}

void words_no_target(struct buffer *out, struct search *s, size_t vm,
	enum want_kind kind)
{
	const struct pod *pod = s->state->vms[vm].vm->pod;
	struct tally tally = { 0 };

	if (!count_reasons(s, vm, kind, &tally)) {
		words_not_tried(out, s, vm);
		return;
	}
	buffer_text(out, "no node takes ");
	words_pod(out, pod);
	tell_tally(out, s, pod, &tally);
}

void words_why_no_target(struct buffer *out, struct search *s, size_t vm,
	enum want_kind kind)
{
	struct tally tally = { 0 };

	if (!count_reasons(s, vm, kind, &tally)) {
		buffer_text(out, "was not tried in time");
		return;
	}
	buffer_text(out, "finds no node");
	tell_tally(out, s, s->state->vms[vm].vm->pod, &tally);
}
