#include "scheduler/score/decision_record.h"

#include <math.h>

#include "proto/wire.h"
#include "tests/unit/scheduler/given.h"

static const int64_t now = 1000 * INT64_C(1000000);
static const struct filter_options defaults = FILTER_DEFAULTS;

enum { NODES = 3 };

struct setting {
	struct interner *interner;
	struct node *nodes[NODES];
	struct pod *vm;
	struct decision decision;
	struct decision_record record;
};

/* Two nodes with a load of 3 s ago, one without a load. */
static int setup(void **state)
{
	static const double used[NODES] = { 8, 2, -1 };
	struct setting *s = xcalloc(1, sizeof(*s));

	s->interner = interner_new();
	for (int i = 0; i < NODES; i++) {
		scoped_free char *name = xasprintf("node-%d", i + 1);
		struct node_load load = given_load(used[i], 0);

		s->nodes[i] = given_plain_node(s->interner, name);
		if (used[i] >= 0) {
			node_set_load(s->nodes[i], &load, now - 3000000, now);
		}
	}
	s->vm = given_vm(s->interner, "vm", 4);
	free(s->vm->vm_name);
	s->vm->vm_name = xstrdup("vm");
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct setting *s = *state;

	for (int i = 0; i < NODES; i++) {
		node_free(s->nodes[i]);
	}
	pod_free(s->vm);
	decision_fini(&s->decision);
	interner_free(s->interner);
	free(s);
	return 0;
}

static const struct decision_record *record_of(struct setting *s, size_t nodes,
	const char *sentence)
{
	const struct cluster cluster = { .nodes = s->nodes, .count = nodes };

	decide(&s->decision, s->vm, &cluster, &defaults, now);
	decision_record_from(&s->record, &s->decision, sentence, 17, 1.5);
	return &s->record;
}

/* Packs the record of the same decision, made in the place of another one. */
static void pack_over(struct setting *s, struct buffer *out, size_t nodes,
	int old)
{
	memset(&s->record, old, sizeof(s->record));
	wire_pack_decision(out, record_of(s, nodes, "why"));
}

static void keeps_nothing_of_the_record_before(void **state)
{
	struct setting *s = *state;
	scoped_buffer struct buffer clean = BUFFER_MAX(1 << 20);
	scoped_buffer struct buffer used = BUFFER_MAX(1 << 20);

	s->nodes[0]->is_unschedulable = true;
	pack_over(s, &clean, NODES, 0);
	pack_over(s, &used, NODES, 'x');
	assert_int_equal(clean.len, used.len);
	assert_memory_equal(clean.data, used.data, clean.len);
	buffer_clear(&clean);
	buffer_clear(&used);
	/* No node is feasible. */
	pack_over(s, &clean, 1, 0);
	pack_over(s, &used, 1, 'x');
	assert_int_equal(clean.len, used.len);
	assert_memory_equal(clean.data, used.data, clean.len);
}

static double sum_of_terms(const struct decision_candidate *c)
{
	double sum = 0;

	for (size_t i = 0; i < c->term_count; i++) {
		sum += c->terms[i].points;
	}
	return sum;
}

static void holds_the_past_use_of_a_vm_that_has_one(void **state)
{
	struct setting *s = *state;
	const struct decision_record *r = record_of(s, NODES, "because");

	assert_false(r->past_seconds > 0);
	s->vm->usage = (struct usage){ .seconds = 600,
		.mean_cores = 1.5,
		.square_cores = 2.5 };
	r = record_of(s, NODES, "because");
	assert_true(r->past_seconds == 600);
	assert_true(r->past_cores == 1.5);
}

static void holds_the_best_with_their_terms_and_inputs(void **state)
{
	struct setting *s = *state;
	const struct decision_record *r = record_of(s, NODES, "because");
	const struct decision_candidate *best = &r->best[0];

	assert_string_equal(r->namespace, s->vm->namespace);
	assert_string_equal(r->pod, s->vm->name);
	assert_string_equal(r->uid, s->vm->uid);
	assert_int_equal(r->wall_us, 17);
	assert_string_equal(r->policy, "real-load");
	assert_string_equal(r->chosen, "node-2");
	assert_string_equal(r->sentence, "because");
	assert_int_equal(r->nodes, NODES);
	assert_int_equal(r->feasible, NODES);
	assert_int_equal(r->best_count, NODES);
	assert_true(fabs(r->margin - (best->score - r->best[1].score)) < 1e-9);
	assert_string_equal(best->node, "node-2");
	assert_int_equal(best->load_age_us, 3000000);
	assert_string_equal(best->terms[0].name, "cpu");
	assert_true(fabs(sum_of_terms(best) - best->score) < 1e-9);
	assert_true(fabs(best->cpu_used - 2.0 / 16) < 1e-9);
	assert_true(best->cpu_expected > best->cpu_used);
	assert_true(
		fabs(best->cpu_used + best->cpu_by_pod + best->cpu_by_starting +
			best->cpu_by_growth - best->cpu_expected) < 1e-9);
	assert_true(fabs((1 - best->cpu_expected) / best->cpu_deviation -
			    best->cpu_room) < 1e-9);
	assert_string_equal(r->vm, "vm");
	assert_int_equal(r->rejection_count, 0);
}

static void names_the_term_that_decided(void **state)
{
	const struct decision_record *r = record_of(*state, NODES, "");

	assert_string_equal(r->decided_by, "cpu");
	assert_true(r->decided_points > 0);
	assert_true(fabs(r->decided_points -
			    (r->best[0].terms[0].points -
				    r->best[1].terms[0].points)) < 1e-9);
}

static void no_term_decides_between_equals(void **state)
{
	struct setting *s = *state;
	struct node_load load = given_load(8, 0);
	const struct decision_record *r;

	node_set_load(s->nodes[1], &load, now - 3000000, now);
	r = record_of(s, 2, "");
	assert_string_equal(r->decided_by, "");
	assert_true(isnan(r->decided_points));
	assert_true(fabs(r->margin) < 1e-9);
}

static void has_what_is_announced(void **state)
{
	struct setting *s = *state;
	const struct decision_record *r;

	s->vm->announced = xcalloc(1, sizeof(*s->vm->announced));
	assert_int_equal(announcement_parse(s->vm->announced, "3", NULL), 0);
	r = record_of(s, NODES, "");
	assert_true(fabs(r->best[0].cpu_announced - 2.0 / 16) < 1e-9);
	assert_true(r->best[0].cpu_announced < r->best[0].cpu_by_pod);
}

static void a_node_without_figures_has_no_age_and_no_use(void **state)
{
	const struct decision_record *r = record_of(*state, NODES, "");
	size_t i = 0;

	while (strcmp(r->best[i].node, "node-3") != 0) {
		i++;
	}
	assert_true(r->best[i].load_age_us == REPORT_UNKNOWN);
	assert_true(isnan(r->best[i].cpu_used));
	assert_true(isnan(r->best[i].cpu_expected));
	assert_true(r->best[i].cpu_by_requests > 0);
}

static void one_feasible_node_has_no_margin(void **state)
{
	const struct decision_record *r = record_of(*state, 1, "");

	assert_true(isnan(r->margin));
	assert_string_equal(r->decided_by, "");
	assert_true(isnan(r->decided_points));
}

static void a_vm_name_that_cannot_be_one_is_left_out(void **state)
{
	struct setting *s = *state;

	free(s->vm->vm_name);
	s->vm->vm_name = xstrdup("a b");
	assert_string_equal(record_of(s, NODES, "")->vm, "");
}

static void has_the_points_that_a_rejection_costs(void **state)
{
	struct setting *s = *state;
	const struct decision_candidate *best;
	scoped_buffer struct buffer bytes = BUFFER_MAX(1 << 20);
	struct decision_record back;

	for (uint32_t vm = 1; vm <= 5; vm++) {
		rejections_add(&s->nodes[1]->rejections, vm, now);
	}
	best = &record_of(s, NODES, "")->best[0];
	for (size_t i = 0; i < NODES; i++) {
		best += strcmp(best->node, "node-2") != 0;
	}
	assert_string_equal(best->terms[best->term_count - 1].name, "rejected");
	assert_true(best->terms[best->term_count - 1].points < -10);
	wire_pack_decision(&bytes, &s->record);
	assert_int_equal(wire_unpack_decision(&back,
				 (const uint8_t *)bytes.data, bytes.len, NULL),
		0);
	assert_true(fabs(sum_of_terms(&back.best[best - s->record.best]) -
			    best->score) < 1e-9);
}

static void names_20_nodes_of_a_reason(void **state)
{
	enum { MANY = 25 };
	struct setting *s = *state;
	struct node *nodes[MANY];
	const struct cluster cluster = { .nodes = nodes, .count = MANY };
	const struct decision_rejection *first = &s->record.rejections[0];
	const char *name;

	for (int i = 0; i < MANY; i++) {
		scoped_free char *text = xasprintf("n%02d", i);

		nodes[i] = given_plain_node(s->interner, text);
		nodes[i]->is_unschedulable = true;
	}
	decide(&s->decision, s->vm, &cluster, &defaults, now);
	decision_record_from(&s->record, &s->decision, "", 17, 1.5);
	assert_int_equal(s->record.rejection_count, 1);
	assert_int_equal(first->nodes, MANY);
	assert_int_equal(first->name_count, DECISION_NAMES_MAX);
	name = decision_names(&s->record, first);
	assert_string_equal(name, "n00");
	assert_string_equal(name + strlen(name) + 1, "n01");
	for (int i = 0; i < MANY; i++) {
		node_free(nodes[i]);
	}
}

static void counts_what_nodes_were_left_out_for(void **state)
{
	struct setting *s = *state;
	const struct decision_record *r;

	pod_free(s->vm);
	s->vm = given_pod(s->interner,
		"{'metadata':{'name':'p','namespace':'a','uid':'u'},"
		"'spec':{'containers':[{'resources':{'requests':"
		"{'cpu':'9999'}}}]}}");
	r = record_of(s, NODES, "0/3 nodes are available");
	assert_string_equal(r->chosen, "");
	assert_int_equal(r->best_count, 0);
	assert_true(isnan(r->margin));
	assert_int_equal(r->rejection_count, 1);
	assert_string_equal(r->rejections[0].reason, "Insufficient cpu");
	assert_int_equal(r->rejections[0].nodes, NODES);
	assert_int_equal(r->rejections[0].name_count, NODES);
	assert_string_equal(decision_names(r, &r->rejections[0]), "node-1");
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(keeps_nothing_of_the_record_before),
		test(holds_the_past_use_of_a_vm_that_has_one),
		test(holds_the_best_with_their_terms_and_inputs),
		test(names_the_term_that_decided),
		test(no_term_decides_between_equals),
		test(has_what_is_announced),
		test(a_node_without_figures_has_no_age_and_no_use),
		test(one_feasible_node_has_no_margin),
		test(a_vm_name_that_cannot_be_one_is_left_out),
		test(has_the_points_that_a_rejection_costs),
		test(names_20_nodes_of_a_reason),
		test(counts_what_nodes_were_left_out_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
