#include "proto/decision.h"

#include "lib/memory.h"
#include "proto/wire_fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct wire_field candidate_fields[] = {
#define X(field)                                                               \
	WIRE_FIELD(Plimsoll__DecisionCandidate, decision_candidate, DOUBLE,    \
		field),
	DECISION_SHARES(X) DECISION_FIGURES(X) X(score)
#undef X
		WIRE_SIGNED_FIELD(Plimsoll__DecisionCandidate,
			decision_candidate, cpu_room),
	WIRE_FIELD(Plimsoll__DecisionCandidate, decision_candidate, U64,
		load_age_us),
};

static const struct wire_field term_fields[] = {
	WIRE_SIGNED_FIELD(Plimsoll__DecisionTerm, decision_term, points),
};

static const struct wire_field record_fields[] = {
	WIRE_FIELD(Plimsoll__Decision, decision_record, PLAIN_U64, wall_us),
	WIRE_FIELD(Plimsoll__Decision, decision_record, PLAIN_U32, nodes),
	WIRE_FIELD(Plimsoll__Decision, decision_record, PLAIN_U32, feasible),
	WIRE_FIELD(Plimsoll__Decision, decision_record, DOUBLE, margin),
	WIRE_FIELD(Plimsoll__Decision, decision_record, DOUBLE, decided_points),
	WIRE_FIELD(Plimsoll__Decision, decision_record, DOUBLE, past_seconds),
	WIRE_FIELD(Plimsoll__Decision, decision_record, DOUBLE, past_cores),
	WIRE_FIELD(Plimsoll__Decision, decision_record, DOUBLE,
		siblings_correlation),
	WIRE_FIELD(Plimsoll__Decision, decision_record, DOUBLE, siblings),
	WIRE_FIELD(Plimsoll__Decision, decision_record, DOUBLE,
		cache_age_seconds),
};

/* ---- ours to wire ---- */

/* Everything that the message of a record points to. Only the parts that the
 * message has are initialised. */
struct wire_decision {
	Plimsoll__Decision decision;
	const struct decision_record *record;
	Plimsoll__DecisionCandidate best[DECISION_BEST_MAX];
	Plimsoll__DecisionCandidate *best_pointers[DECISION_BEST_MAX];
	Plimsoll__DecisionTerm terms[DECISION_BEST_MAX][DECISION_TERMS_MAX];
	Plimsoll__DecisionTerm
		*term_pointers[DECISION_BEST_MAX][DECISION_TERMS_MAX];
	Plimsoll__DecisionRejection rejections[DECISION_REASONS_MAX];
	Plimsoll__DecisionRejection *rejection_pointers[DECISION_REASONS_MAX];
	char *names[DECISION_REASONS_MAX][DECISION_NAMES_MAX];
};

/* Messages have texts that may change, but packing only reads them. */
static char *unchanged(const char *text)
{
	union {
		const char *in;
		char *out;
	} pointer = { .in = text };

	return pointer.out;
}

static char *unless_empty(const char *text)
{
	return text[0] == '\0' ? NULL : unchanged(text);
}

static void put_candidate(struct wire_decision *wire, size_t i)
{
	const struct decision_candidate *ours = &wire->record->best[i];
	Plimsoll__DecisionCandidate *out = &wire->best[i];

	plimsoll__decision_candidate__init(out);
	out->node = unchanged(ours->node);
	wire_put_fields(out, ours, WIRE_TABLE(candidate_fields));
	for (size_t k = 0; k < ours->term_count; k++) {
		Plimsoll__DecisionTerm *term = &wire->terms[i][k];

		plimsoll__decision_term__init(term);
		term->name = unchanged(ours->terms[k].name);
		wire_put_fields(term, &ours->terms[k], WIRE_TABLE(term_fields));
		wire->term_pointers[i][k] = term;
	}
	out->n_terms = ours->term_count;
	out->terms = wire->term_pointers[i];
	wire->best_pointers[i] = out;
}

static void put_names(struct wire_decision *wire, size_t i)
{
	const struct decision_rejection *ours = &wire->record->rejections[i];
	const char *name = wire->record->names + ours->first_name;

	for (size_t k = 0; k < ours->name_count; k++) {
		wire->names[i][k] = unchanged(name);
		name += strlen(name) + 1;
	}
	wire->rejections[i].n_names = ours->name_count;
	wire->rejections[i].names = wire->names[i];
}

static void put_rejections(struct wire_decision *wire)
{
	for (size_t i = 0; i < wire->record->rejection_count; i++) {
		const struct decision_rejection *ours =
			&wire->record->rejections[i];
		Plimsoll__DecisionRejection *out = &wire->rejections[i];

		plimsoll__decision_rejection__init(out);
		out->reason = unchanged(ours->reason);
		out->has_nodes = true;
		out->nodes = ours->nodes;
		put_names(wire, i);
		wire->rejection_pointers[i] = out;
	}
	wire->decision.n_rejections = wire->record->rejection_count;
	wire->decision.rejections = wire->rejection_pointers;
}

static void put_decision(struct wire_decision *wire,
	const struct decision_record *ours)
{
	Plimsoll__Decision *out = &wire->decision;

	wire->record = ours;
	plimsoll__decision__init(out);
	out->namespace_ = unchanged(ours->namespace);
	out->pod = unchanged(ours->pod);
	out->uid = unchanged(ours->uid);
	out->vm = unless_empty(ours->vm);
	out->policy = unchanged(ours->policy);
	out->chosen = unless_empty(ours->chosen);
	out->decided_by = unless_empty(ours->decided_by);
	out->sentence = unchanged(ours->sentence);
	wire_put_fields(out, ours, WIRE_TABLE(record_fields));
	for (size_t i = 0; i < ours->best_count; i++) {
		put_candidate(wire, i);
	}
	out->n_best = ours->best_count;
	out->best = wire->best_pointers;
	put_rejections(wire);
}

void wire_pack_decision(struct buffer *out,
	const struct decision_record *record)
{
	scoped_free struct wire_decision *wire =
		xrealloc(NULL, 1, sizeof(*wire));

	put_decision(wire, record);
	wire_append(out, &wire->decision.base);
}

/* ---- wire to ours ---- */

static int get_term(struct decision_term *ours,
	const Plimsoll__DecisionTerm *wire, struct error *err)
{
	int r = wire_get_name(ours->name, sizeof(ours->name), wire->name,
		"term", err);

	return r == 0
		? wire_get_fields(ours, wire, WIRE_TABLE(term_fields), err)
		: r;
}

static int get_candidate(struct decision_candidate *ours,
	const Plimsoll__DecisionCandidate *wire, struct error *err)
{
	int r = wire_get_name(ours->node, sizeof(ours->node), wire->node,
		"node", err);

	if (r == 0 && wire->n_terms > DECISION_TERMS_MAX) {
		r = error_set(err, -EBADMSG,
			"%zu terms of a score are too many", wire->n_terms);
	}
	if (r == 0) {
		r = wire_get_fields(ours, wire, WIRE_TABLE(candidate_fields),
			err);
	}
	while (r == 0 && ours->term_count < wire->n_terms) {
		r = get_term(&ours->terms[ours->term_count],
			wire->terms[ours->term_count], err);
		ours->term_count++;
	}
	return r;
}

static int get_names(struct decision_record *ours,
	const Plimsoll__Decision *wire, struct error *err)
{
	int r = wire_get_name(ours->namespace, sizeof(ours->namespace),
		wire->namespace_, "namespace", err);

	if (r == 0) {
		r = wire_get_name(ours->pod, sizeof(ours->pod), wire->pod,
			"pod", err);
	}
	if (r == 0) {
		r = wire_get_name(ours->uid, sizeof(ours->uid), wire->uid,
			"uid", err);
	}
	if (r == 0) {
		r = wire_get_name(ours->policy, sizeof(ours->policy),
			wire->policy, "policy", err);
	}
	if (r == 0) {
		r = wire_get_optional_name(ours->vm, sizeof(ours->vm), wire->vm,
			"vm", err);
	}
	if (r == 0) {
		r = wire_get_optional_name(ours->chosen, sizeof(ours->chosen),
			wire->chosen, "chosen", err);
	}
	if (r == 0) {
		r = wire_get_optional_name(ours->decided_by,
			sizeof(ours->decided_by), wire->decided_by,
			"decided_by", err);
	}
	return r;
}

static int get_numbers(struct decision_record *ours,
	const Plimsoll__Decision *wire, struct error *err)
{
	int r = wire_check_time(wire->wall_us, "wall_us", err);

	if (r < 0) {
		return r;
	}
	if (wire->n_best > DECISION_BEST_MAX ||
		wire->n_rejections > DECISION_REASONS_MAX) {
		return error_set(err, -EBADMSG,
			"%zu best nodes or %zu reasons are too many",
			wire->n_best, wire->n_rejections);
	}
	return wire_get_fields(ours, wire, WIRE_TABLE(record_fields), err);
}

/* The names are checked one by one, and added to the last rejection. */
static int get_rejection(struct decision_record *ours,
	const Plimsoll__DecisionRejection *wire, struct error *err)
{
	struct decision_rejection *out =
		&ours->rejections[ours->rejection_count++];
	char name[REPORT_NODE_MAX];
	int r = 0;

	wire_get_shown(out->reason, sizeof(out->reason), wire->reason);
	out->nodes = wire->nodes;
	for (size_t i = 0; r == 0 && i < wire->n_names; i++) {
		r = wire_get_name(name, sizeof(name), wire->names[i], "node",
			err);
		if (r == 0 && !decision_add_name(ours, name)) {
			r = error_set(err, -EBADMSG,
				"a reason names too many nodes");
		}
	}
	return r;
}

static int decision_from(struct decision_record *ours,
	const Plimsoll__Decision *wire, struct error *err)
{
	int r = get_names(ours, wire, err);

	if (r == 0) {
		r = get_numbers(ours, wire, err);
	}
	if (r < 0) {
		return r;
	}
	wire_get_shown(ours->sentence, sizeof(ours->sentence), wire->sentence);
	for (size_t i = 0; r == 0 && i < wire->n_rejections; i++) {
		r = get_rejection(ours, wire->rejections[i], err);
	}
	while (r == 0 && ours->best_count < wire->n_best) {
		r = get_candidate(&ours->best[ours->best_count],
			wire->best[ours->best_count], err);
		ours->best_count++;
	}
	return r;
}

int wire_unpack_decision(struct decision_record *out, const uint8_t *bytes,
	size_t len, struct error *err)
{
	struct wire_budget budget;
	ProtobufCAllocator *allocator = wire_budget_init(&budget);
	Plimsoll__Decision *wire =
		plimsoll__decision__unpack(allocator, len, bytes);
	int r;

	*out = (struct decision_record){ 0 };
	r = wire == NULL
		? error_set(err, -EBADMSG, "cannot unpack the decision")
		: decision_from(out, wire, err);
	wire_budget_fini(&budget);
	return r;
}

int wire_decisions_from(struct decision_batch *out,
	const Plimsoll__DecisionBatch *wire, struct error *err)
{
	struct decision_batch batch = { 0 };
	int r = 0;

	if (wire->n_decisions == 0 || wire->n_decisions > WIRE_DECISIONS_MAX) {
		return error_set(err, -EBADMSG, "a batch has %zu decisions",
			wire->n_decisions);
	}
	batch.records = xcalloc(wire->n_decisions, sizeof(*batch.records));
	while (r == 0 && batch.count < wire->n_decisions) {
		r = decision_from(&batch.records[batch.count],
			wire->decisions[batch.count], err);
		batch.count++;
	}
	if (r < 0) {
		free(batch.records);
		return r;
	}
	*out = batch;
	return 0;
}

/* ---- names of rejected nodes ---- */

bool decision_add_name(struct decision_record *record, const char *node)
{
	struct decision_rejection *last =
		&record->rejections[record->rejection_count - 1];
	size_t size = strlen(node) + 1;

	if (last->name_count == DECISION_NAMES_MAX ||
		size > sizeof(record->names) - record->names_len) {
		return false;
	}
	if (last->name_count == 0) {
		last->first_name = (uint32_t)record->names_len;
	}
	memcpy(record->names + record->names_len, node, size);
	record->names_len += size;
	last->name_count++;
	return true;
}

const char *decision_names(const struct decision_record *record,
	const struct decision_rejection *rejection)
{
	return record->names + rejection->first_name;
}
