#include "scheduler/score/decision_record.h"

#include <math.h>

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
	decision_record_from(&s->record, &s->decision, sentence, 17);
	return &s->record;
}

static double sum_of_terms(const struct decision_candidate *c)
{
	double sum = 0;

	for (size_t i = 0; i < c->term_count; i++) {
		sum += c->terms[i].points;
	}
	return sum;
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
	assert_int_equal(r->rejection_count, 0);
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
	assert_true(isnan(record_of(*state, 1, "")->margin));
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
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(holds_the_best_with_their_terms_and_inputs),
		test(a_node_without_figures_has_no_age_and_no_use),
		test(one_feasible_node_has_no_margin),
		test(counts_what_nodes_were_left_out_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
