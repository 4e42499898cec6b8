/* Decisions on the wire: every field there and back, and every refusal. */
#include "proto/wire.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <math.h>
#include <plimsoll.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 16 << 20 };

static const uint8_t *bytes_of(const struct buffer *b)
{
	return (const uint8_t *)(b->data == NULL ? "" : b->data);
}

static void fill_candidate(struct decision_candidate *c, size_t i)
{
	(void)snprintf(c->node, sizeof(c->node), "node-%zu", i);
	c->score = 90.5 - (double)i;
	c->load_age_us = i % 2 == 0 ? 1500000 + i : REPORT_UNKNOWN;
	c->trust = 1;
	c->cpu_used = 0.31;
	c->cpu_expected = 0.35;
	c->cpu_by_requests = NAN;
	c->memory_by_requests = 0.5;
	c->cpu_by_pod = 0.03;
	c->cpu_by_starting = 0;
	c->cpu_by_growth = 0.01;
	c->cpu_announced = i == 2 ? NAN : 0.02;
	c->cpu_deviation = 0.1;
	c->cpu_room = i == 1 ? NAN : 3.5 - (double)i;
	c->cpu_shortage = 84;
	c->cpu_shortage_added = i == 3 ? NAN : 1.5;
	c->siblings = i == 4 ? NAN : (double)i;
	c->memory_expected = 0.6;
	c->memory_pressure = 0;
	c->io_pressure = NAN;
	c->contention = i % 3 == 0 ? NAN : 0.02;
	c->term_count = i % (DECISION_TERMS_MAX + 1);
	for (size_t k = 0; k < c->term_count; k++) {
		(void)snprintf(c->terms[k].name, sizeof(c->terms[k].name),
			"term_%zu", k);
		c->terms[k].points = k == 3 ? NAN : 1 - (double)k / 7;
	}
}

/* Every list is full. */
static struct decision_record *full_record(void)
{
	struct decision_record *r = xcalloc(1, sizeof(*r));

	(void)snprintf(r->namespace, sizeof(r->namespace), "prod");
	(void)snprintf(r->pod, sizeof(r->pod), "virt-launcher-a");
	(void)snprintf(r->uid, sizeof(r->uid), "u-1");
	(void)snprintf(r->vm, sizeof(r->vm), "a");
	r->wall_us = 1780000000000000;
	(void)snprintf(r->policy, sizeof(r->policy), "real-load");
	(void)snprintf(r->chosen, sizeof(r->chosen), "node-0");
	r->nodes = 5000;
	r->feasible = 4000;
	r->margin = 1.25;
	(void)snprintf(r->decided_by, sizeof(r->decided_by), "cpu");
	r->decided_points = 2.5;
	r->past_seconds = 7200;
	r->past_cores = 0.25;
	r->siblings = 38;
	r->siblings_correlation = 0.5;
	r->cache_age_seconds = 12.5;
	memset(r->sentence, 'x', sizeof(r->sentence) - 1);
	r->best_count = DECISION_BEST_MAX;
	for (size_t i = 0; i < r->best_count; i++) {
		fill_candidate(&r->best[i], i);
	}
	for (size_t i = 0; i < DECISION_REASONS_MAX; i++) {
		r->rejection_count++;
		(void)snprintf(r->rejections[i].reason,
			sizeof(r->rejections[i].reason),
			"Insufficient thing-%zu", i);
		r->rejections[i].nodes = (uint32_t)i + 1;
		for (size_t k = 0; k < i && k < DECISION_NAMES_MAX; k++) {
			assert_true(decision_add_name(r, "node-17"));
		}
	}
	return r;
}

static struct buffer packed(const struct decision_record *record)
{
	struct buffer out = BUFFER_MAX(BYTES_MAX);

	wire_pack_decision(&out, record);
	assert_false(out.overflowed);
	return out;
}

static void assert_same_candidate(const struct decision_candidate *a,
	const struct decision_candidate *b)
{
	assert_string_equal(a->node, b->node);
	assert_true(a->load_age_us == b->load_age_us);
	assert_int_equal(a->term_count, b->term_count);
#define X(field)                                                               \
	assert_true(isnan(a->field) ? isnan(b->field) : a->field == b->field);
	DECISION_SHARES(X)
	X(score)
	X(cpu_room)
	DECISION_FIGURES(X)
	for (size_t i = 0; i < a->term_count; i++) {
		assert_string_equal(a->terms[i].name, b->terms[i].name);
		X(terms[i].points)
	}
#undef X
}

static void assert_same(const struct decision_record *a,
	const struct decision_record *b)
{
	assert_string_equal(a->namespace, b->namespace);
	assert_string_equal(a->pod, b->pod);
	assert_string_equal(a->uid, b->uid);
	assert_string_equal(a->vm, b->vm);
	assert_true(a->wall_us == b->wall_us);
	assert_string_equal(a->policy, b->policy);
	assert_string_equal(a->chosen, b->chosen);
	assert_int_equal(a->nodes, b->nodes);
	assert_int_equal(a->feasible, b->feasible);
	assert_true(
		isnan(a->margin) ? isnan(b->margin) : a->margin == b->margin);
	assert_string_equal(a->decided_by, b->decided_by);
	assert_true(isnan(a->decided_points)
			? isnan(b->decided_points)
			: a->decided_points == b->decided_points);
	assert_true(isnan(a->past_seconds)
			? isnan(b->past_seconds)
			: a->past_seconds == b->past_seconds &&
				a->past_cores == b->past_cores);
	assert_true(isnan(a->siblings)
			? isnan(b->siblings) && isnan(b->siblings_correlation)
			: a->siblings == b->siblings &&
				a->siblings_correlation ==
					b->siblings_correlation);
	assert_true(isnan(a->cache_age_seconds)
			? isnan(b->cache_age_seconds)
			: a->cache_age_seconds == b->cache_age_seconds);
	assert_string_equal(a->sentence, b->sentence);
	assert_int_equal(a->best_count, b->best_count);
	for (size_t i = 0; i < a->best_count; i++) {
		assert_same_candidate(&a->best[i], &b->best[i]);
	}
	assert_int_equal(a->rejection_count, b->rejection_count);
	for (size_t i = 0; i < a->rejection_count; i++) {
		assert_string_equal(a->rejections[i].reason,
			b->rejections[i].reason);
		assert_int_equal(a->rejections[i].nodes,
			b->rejections[i].nodes);
		assert_int_equal(a->rejections[i].name_count,
			b->rejections[i].name_count);
	}
	assert_int_equal(a->names_len, b->names_len);
	assert_memory_equal(a->names, b->names, a->names_len);
}

static void unpacks_the_decision_that_was_packed(void **state)
{
	scoped_free struct decision_record *record = full_record();
	scoped_free struct decision_record *back = xcalloc(1, sizeof(*back));
	scoped_buffer struct buffer bytes = packed(record);

	(void)state;
	assert_int_equal(
		wire_unpack_decision(back, bytes_of(&bytes), bytes.len, NULL),
		0);
	assert_same(record, back);
}

static void keeps_a_missing_node_and_margin_unknown(void **state)
{
	struct decision_record record = { .namespace = "a",
		.pod = "b",
		.uid = "c",
		.policy = "p",
		.margin = NAN,
		.nodes = 3 };
	scoped_free struct decision_record *back = xcalloc(1, sizeof(*back));
	scoped_buffer struct buffer bytes = packed(&record);

	(void)state;
	assert_int_equal(
		wire_unpack_decision(back, bytes_of(&bytes), bytes.len, NULL),
		0);
	assert_same(&record, back);
}

static void names_no_more_nodes_than_there_is_room_for(void **state)
{
	scoped_free struct decision_record *r = xcalloc(1, sizeof(*r));
	char longest[REPORT_NODE_MAX];

	(void)state;
	memset(longest, 'n', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	for (size_t i = 0; i < 3; i++) {
		r->rejection_count++;
		for (size_t k = 0; k < DECISION_NAMES_MAX; k++) {
			assert_true(decision_add_name(r, longest));
		}
		assert_false(decision_add_name(r, "a"));
	}
	r->rejection_count++;
	for (size_t k = 0; k < 4; k++) {
		assert_true(decision_add_name(r, longest));
	}
	assert_false(decision_add_name(r, longest));
	assert_true(decision_add_name(r, "a"));
}

static void refuses_too_many_names_of_a_reason(void **state)
{
	static char name[] = "n";
	char *names[DECISION_NAMES_MAX + 1];
	Plimsoll__DecisionRejection rejection =
		PLIMSOLL__DECISION_REJECTION__INIT;
	Plimsoll__DecisionRejection *rejections[] = { &rejection };
	Plimsoll__Decision wire = PLIMSOLL__DECISION__INIT;
	scoped_free struct decision_record *back = xcalloc(1, sizeof(*back));
	uint8_t bytes[1024];
	struct error err;

	(void)state;
	for (size_t i = 0; i < count_of(names); i++) {
		names[i] = name;
	}
	wire.namespace_ = wire.pod = wire.uid = wire.policy = name;
	wire.n_rejections = 1;
	wire.rejections = rejections;
	rejection.names = names;
	for (size_t i = DECISION_NAMES_MAX; i < count_of(names) + 1; i++) {
		rejection.n_names = i;
		assert_int_equal(
			wire_unpack_decision(back, bytes,
				plimsoll__decision__pack(&wire, bytes), &err),
			i > DECISION_NAMES_MAX ? -EBADMSG : 0);
	}
	assert_string_equal(err.text, "a reason names too many nodes");
}

static void packs_a_batch_of_decisions_as_generated_code_does(void **state)
{
	scoped_free struct decision_record *record = full_record();
	scoped_buffer struct buffer one = packed(record);
	scoped_buffer struct buffer out = BUFFER_MAX(BYTES_MAX);
	struct packed_record both[] = { { bytes_of(&one), one.len },
		{ bytes_of(&one), one.len } };
	struct wire_request request;

	(void)state;
	wire_pack_decisions(&out, both, 2);
	assert_int_equal(
		wire_unpack_request(&request, bytes_of(&out), out.len, NULL),
		0);
	assert_int_equal(request.kind, WIRE_DECISIONS);
	assert_int_equal(request.decisions.count, 2);
	assert_same(record, &request.decisions.records[1]);
	wire_request_fini(&request);
}

static void refuses_too_many_decisions_in_a_batch(void **state)
{
	struct decision_record record = { .namespace = "a",
		.pod = "b",
		.uid = "c",
		.policy = "p",
		.margin = NAN };
	scoped_buffer struct buffer one = packed(&record);
	scoped_buffer struct buffer out = BUFFER_MAX(BYTES_MAX);
	struct packed_record many[WIRE_DECISIONS_MAX + 1];
	struct wire_request request;
	struct error err;

	(void)state;
	for (size_t i = 0; i < count_of(many); i++) {
		many[i] = (struct packed_record){ bytes_of(&one), one.len };
	}
	wire_pack_decisions(&out, many, count_of(many));
	assert_int_equal(
		wire_unpack_request(&request, bytes_of(&out), out.len, &err),
		-EBADMSG);
	assert_string_equal(err.text, "a batch has 65 decisions");
	out.len = 0;
	wire_pack_decisions(&out, many, 0);
	assert_int_equal(
		wire_unpack_request(&request, bytes_of(&out), out.len, &err),
		-EBADMSG);
	assert_string_equal(err.text, "a batch has 0 decisions");
}

/* Values that our own structs cannot hold. */
static void refuses_impossible_values(void **state)
{
	static char blank[] = "a b";
	Plimsoll__DecisionTerm term = PLIMSOLL__DECISION_TERM__INIT;
	Plimsoll__DecisionTerm *terms[DECISION_TERMS_MAX + 1];
	Plimsoll__DecisionCandidate best = PLIMSOLL__DECISION_CANDIDATE__INIT;
	Plimsoll__DecisionCandidate *bests[] = { &best };
	Plimsoll__Decision wire = PLIMSOLL__DECISION__INIT;
	static char name[] = "n";
	const struct {
		const char *sentence;
		char *pod;
		uint64_t wall_us;
		double score;
		size_t terms;
	} cases[] = {
		{ "pod", blank, 1, 1, 0 },
		{ "pod", NULL, 1, 1, 0 },
		{ "wall_us is out of range", name, UINT64_MAX, 1, 0 },
		{ "score is negative or not finite", name, 1, -1, 0 },
		{ "score is negative or not finite", name, 1, INFINITY, 0 },
		{ "25 terms of a score are too many", name, 1, 1, 25 },
	};

	(void)state;
	term.name = name;
	for (size_t i = 0; i < count_of(terms); i++) {
		terms[i] = &term;
	}
	wire.namespace_ = wire.uid = wire.policy = best.node = name;
	wire.n_best = 1;
	wire.best = bests;
	best.has_score = wire.has_wall_us = true;
	best.terms = terms;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free struct decision_record *back =
			xcalloc(1, sizeof(*back));
		uint8_t bytes[1024];
		struct error err = { 0 };
		size_t len;

		wire.pod = cases[i].pod;
		wire.wall_us = cases[i].wall_us;
		best.score = cases[i].score;
		best.n_terms = cases[i].terms;
		len = plimsoll__decision__pack(&wire, bytes);
		assert_int_equal(wire_unpack_decision(back, bytes, len, &err),
			-EBADMSG);
		assert_non_null(strstr(err.text, cases[i].sentence));
	}
}

static void refuses_more_nodes_or_reasons_than_there_is_room_for(void **state)
{
	static char name[] = "n";
	Plimsoll__DecisionCandidate best = PLIMSOLL__DECISION_CANDIDATE__INIT;
	Plimsoll__DecisionRejection reason = PLIMSOLL__DECISION_REJECTION__INIT;
	Plimsoll__DecisionCandidate *bests[DECISION_BEST_MAX + 1];
	Plimsoll__DecisionRejection *reasons[DECISION_REASONS_MAX + 1];
	Plimsoll__Decision wire = PLIMSOLL__DECISION__INIT;

	(void)state;
	best.node = name;
	reason.reason = name;
	for (size_t i = 0; i < count_of(bests); i++) {
		bests[i] = &best;
	}
	for (size_t i = 0; i < count_of(reasons); i++) {
		reasons[i] = &reason;
	}
	wire.namespace_ = wire.pod = wire.uid = wire.policy = name;
	wire.has_wall_us = true;
	wire.wall_us = 1;
	wire.best = bests;
	wire.rejections = reasons;
	for (int i = 0; i < 3; i++) {
		scoped_free struct decision_record *back =
			xcalloc(1, sizeof(*back));
		scoped_free uint8_t *bytes = xcalloc(1, 65536);
		struct error err = { 0 };
		size_t len;

		wire.n_best = DECISION_BEST_MAX + (i == 1 ? 1 : 0);
		wire.n_rejections = DECISION_REASONS_MAX + (i == 2 ? 1 : 0);
		len = plimsoll__decision__pack(&wire, bytes);
		assert_int_equal(wire_unpack_decision(back, bytes, len, &err),
			i == 0 ? 0 : -EBADMSG);
		assert_int_equal(strstr(err.text, "are too many") != NULL,
			i != 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unpacks_the_decision_that_was_packed),
		cmocka_unit_test(keeps_a_missing_node_and_margin_unknown),
		cmocka_unit_test(
			packs_a_batch_of_decisions_as_generated_code_does),
		cmocka_unit_test(refuses_too_many_decisions_in_a_batch),
		cmocka_unit_test(names_no_more_nodes_than_there_is_room_for),
		cmocka_unit_test(refuses_too_many_names_of_a_reason),
		cmocka_unit_test(refuses_impossible_values),
		cmocka_unit_test(
			refuses_more_nodes_or_reasons_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
