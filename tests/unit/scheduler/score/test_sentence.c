#include "scheduler/score/sentence.h"

#include <math.h>

#include "kube/time.h"
#include "scheduler/score/decide.h"
#include "tests/unit/scheduler/given.h"

static const int64_t now = 1000 * INT64_C(1000000);
static const struct filter_options defaults = FILTER_DEFAULTS;

struct setting {
	struct interner *interner;
	struct node *nodes[2];
	struct pod *vm;
	struct score_context context;
	struct candidate a, b;
};

/* node-a and node-b without a difference: 50 points by CPU, no contention. */
static int setup(void **state)
{
	struct setting *s = xcalloc(1, sizeof(*s));
	struct candidate *both[] = { &s->a, &s->b };

	s->interner = interner_new();
	s->vm = given_vm(s->interner, "vm", 4);
	s->context = (struct score_context){ .pod = s->vm, .now_us = now };
	for (int i = 0; i < 2; i++) {
		s->nodes[i] = given_plain_node(s->interner,
			i == 0 ? "node-a" : "node-b");
		*both[i] = (struct candidate){ .node = s->nodes[i],
			.score = { .total = 50,
				.trust = 1,
				.cpu_measured = 0.35,
				.cpu_by_pod = 0.06,
				.cpu_room = 4.1,
				.cpu_deviation = 0.14,
				.memory_expected = 0.4 } };
		for (int t = 0; t < SCORE_TERMS; t++) {
			both[i]->score.terms[t] = NAN;
		}
		both[i]->score.terms[TERM_CPU] = 50;
	}
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct setting *s = *state;

	pod_free(s->vm);
	node_free(s->nodes[0]);
	node_free(s->nodes[1]);
	interner_free(s->interner);
	free(s);
	return 0;
}

/* node-b has this many points less by a term. */
static void worse(struct setting *s, enum score_term term, double points)
{
	double *theirs = &s->b.score.terms[term];

	s->a.score.terms[term] =
		isnan(s->a.score.terms[term]) ? 0 : s->a.score.terms[term];
	*theirs = s->a.score.terms[term] - points;
	s->b.score.total -= points;
}

static void assert_says(struct setting *s, const char *expected)
{
	scoped_buffer struct buffer text = BUFFER_MAX(4096);

	sentence_load(&text, &s->a, &s->b, &s->context);
	sentence_margin(&text, &s->a.score, &s->b);
	assert_string_equal(text.data, expected);
}

static void names_the_room_where_cpu_decides(void **state)
{
	struct setting *s = *state;

	s->b.score.cpu_room = 2.3;
	s->b.score.cpu_deviation = 0.24;
	s->a.score.contention = 0.02;
	worse(s, TERM_CPU, 12);
	worse(s, TERM_MEMORY, -3);
	assert_says(s,
		"35 % CPU used + 6 % by this VM; CPU free for 4.1 times its "
		"usual swing (14 %) against 2.3 times (24 %) on node-b; "
		"contention 2 %; 9 points ahead of node-b, mostly CPU (12), "
		"despite memory (-3)");
}

static void names_the_shortage_where_the_vm_adds_some(void **state)
{
	struct setting *s = *state;

	s->b.score.cpu_shortage_added = 84;
	worse(s, TERM_CPU, 8);
	assert_says(s,
		"35 % CPU used + 6 % by this VM; this VM adds 1.4 core-minutes "
		"of shortage expected in the next hour on node-b, none on "
		"node-a; no contention; 8 points ahead of node-b, mostly CPU "
		"(8)");
	s->a.score.cpu_shortage_added = 30;
	s->b.score.cpu_shortage_added = 3000;
	s->context.kin.rho = 0.1; /* they do not peak together */
	s->context.siblings = 38;
	s->b.score.siblings = 9;
	assert_says(s,
		"35 % CPU used + 6 % by this VM; this VM adds 50 core-minutes "
		"of shortage expected in the next hour on node-b, 0.5 on "
		"node-a; no contention; 8 points ahead of node-b, mostly CPU "
		"(8)");
}

static void names_siblings_that_peak_together(void **state)
{
	struct setting *s = *state;

	s->b.score.cpu_shortage_added = 84;
	s->b.score.siblings = 9;
	s->context.siblings = 38;
	s->context.kin.rho = 0.5;
	worse(s, TERM_CPU, 8);
	assert_says(s,
		"35 % CPU used + 6 % by this VM; 9 of its 38 siblings are on "
		"node-b and peak together; node-a has none; this VM adds 1.4 "
		"core-minutes of shortage expected in the next hour on node-b, "
		"none on node-a; no contention; 8 points ahead of node-b, "
		"mostly CPU (8)");
	s->a.score.siblings = 1;
	s->b.score.siblings = 2;
	assert_says(s,
		"35 % CPU used + 6 % by this VM; 2 of its 38 siblings are on "
		"node-b and peak together; node-a has 1; this VM adds 1.4 "
		"core-minutes of shortage expected in the next hour on node-b, "
		"none on node-a; no contention; 8 points ahead of node-b, "
		"mostly CPU (8)");
	s->b.score.siblings = 1;
	assert_says(s,
		"35 % CPU used + 6 % by this VM; this VM adds 1.4 core-minutes "
		"of shortage expected in the next hour on node-b, none on "
		"node-a; no contention; 8 points ahead of node-b, mostly CPU "
		"(8)");
}

static void splits_what_is_expected(void **state)
{
	struct setting *s = *state;

	s->a.score.cpu_by_starting = 0.02;
	s->a.score.cpu_by_growth = 0.03;
	s->b.score.total = 49.7;
	assert_says(s,
		"35 % CPU used + 6 % by this VM + 2 % by VMs that start + 3 % "
		"by VMs that will use more; no contention; less than a point "
		"ahead of node-b");
}

static void says_no_contention_only_where_it_is_known(void **state)
{
	struct setting *s = *state;

	assert_says(s,
		"35 % CPU used + 6 % by this VM; no contention; as good as "
		"node-b, and first by name");
	s->a.score.contention = NAN;
	assert_says(s,
		"35 % CPU used + 6 % by this VM; as good as node-b, and first "
		"by name");
}

static void names_the_inputs_of_each_term(void **state)
{
	static const struct {
		enum score_term term;
		const char *says;
	} cases[] = {
		{ TERM_MEMORY,
			"; memory 40 % against 85 % on node-b; no contention; "
			"8 points ahead of node-b, mostly memory (8)" },
		{ TERM_CONTENTION,
			"; contention 0 % against 30 % on node-b; 8 points "
			"ahead of node-b, mostly contention (8)" },
		{ TERM_MEMORY_PRESSURE,
			"; memory pressure 1 % against 20 % on node-b; no "
			"contention; 8 points ahead of node-b, mostly memory "
			"pressure (8)" },
		{ TERM_IO_PRESSURE,
			"; I/O pressure 2 %; no contention; 8 points ahead of "
			"node-b, mostly I/O pressure (8)" },
		{ TERM_KVM,
			"; KVM: works, on node-b: does not work; no "
			"contention; 8 points ahead of node-b, mostly KVM "
			"(8)" },
		{ TERM_DATA,
			"; trust in the load data 100 % against 50 % on "
			"node-b; no contention; 8 points ahead of node-b, "
			"mostly load data (8)" },
		{ TERM_REJECTED,
			"; the kubelet of node-b rejected a pod; no "
			"contention; 8 points ahead of node-b, mostly "
			"rejection (8)" },
		{ TERM_PREFERENCES + PREFERENCE_AFFINITY,
			"; no contention; 8 points ahead of node-b, mostly "
			"affinity (8)" },
	};

	for (size_t i = 0; i < count_of(cases); i++) {
		struct setting *s = *state;
		struct setting same = *s;
		struct node_metrics *m = &s->nodes[0]->metrics;
		struct node_metrics *n = &s->nodes[1]->metrics;
		scoped_free char *says = xasprintf(
			"35 %% CPU used + 6 %% by this VM%s", cases[i].says);

		same.b.score.memory_expected = 0.85;
		same.b.score.contention = 0.3;
		same.b.score.trust = cases[i].term == TERM_DATA ? 0.5 : 1;
		m->memory_pressure = 0.01;
		n->memory_pressure = 0.2;
		m->io_pressure = 0.02;
		n->io_pressure = NAN;
		m->kvm_state = KVM_OK;
		n->kvm_state = KVM_MISSING;
		worse(&same, cases[i].term, 8);
		assert_says(&same, says);
	}
}

static void points_of_half_are_one_with_both_signs(void **state)
{
	struct setting *s = *state;

	worse(s, TERM_CPU, 8);
	worse(s, TERM_MEMORY, -0.5);
	s->b.score.cpu_room = 1;
	s->b.score.cpu_deviation = 0.2;
	assert_says(s,
		"35 % CPU used + 6 % by this VM; CPU free for 4.1 times its "
		"usual swing (14 %) against 1.0 times (20 %) on node-b; no "
		"contention; 8 points ahead of node-b, mostly CPU (8), despite "
		"memory (-1)");
}

static void says_that_both_kubelets_rejected_pods(void **state)
{
	struct setting *s = *state;

	s->a.score.terms[TERM_REJECTED] = -2;
	worse(s, TERM_REJECTED, 8);
	assert_says(s,
		"35 % CPU used + 6 % by this VM; both kubelets rejected pods, "
		"for -2 points against -10 on node-b; no contention; 8 points "
		"ahead of node-b, mostly rejection (8)");
}

/* Stale figures count little: the node with the higher one may be better. */
static void shows_the_pressure_that_gives_the_points(void **state)
{
	struct setting *s = *state;

	s->nodes[0]->metrics.memory_pressure = 0.4;
	s->nodes[1]->metrics.memory_pressure = 0.05;
	s->a.score.trust = 0.1;
	s->b.score.trust = 1;
	s->context.now_us = s->nodes[0]->metrics.sample_us + 270000000;
	worse(s, TERM_MEMORY_PRESSURE, 8);
	assert_says(s,
		"load data 270 s old, 35 % CPU used + 6 % by this VM; memory "
		"pressure 1 % against 5 % on node-b; no contention; 8 points "
		"ahead of node-b, mostly memory pressure (8)");
}

static void names_the_cpus_that_a_dedicated_vm_takes(void **state)
{
	struct setting *s = *state;

	s->vm->is_dedicated = true;
	assert_says(s,
		"35 % CPU used + 6 % by the CPUs that this VM takes; no "
		"contention; as good as node-b, and first by name");
}

static void shows_what_is_announced_after_its_share_only(void **state)
{
	struct setting *s = *state;

	s->a.score.cpu_announced_by_pod = 0.02;
	s->a.score.cpu_announced_by_others = 0.04;
	assert_says(s,
		"35 % CPU used + 6 % by this VM (2 % announced); no "
		"contention; as good as node-b, and first by name");
	s->a.score.cpu_by_growth = 0.05;
	assert_says(s,
		"35 % CPU used + 6 % by this VM (2 % announced) + 5 % by VMs "
		"that will use more (4 % announced); no contention; as good as "
		"node-b, and first by name");
}

/* The busier node wins because its VMs vary less, and the sentence says so. */
static void explains_why_the_busier_node_won(void **state)
{
	struct setting *s = *state;
	const struct cluster cluster = { .nodes = s->nodes, .count = 2 };
	struct node_load busy = given_load(5.6, 0);
	struct node_load unsteady = given_load(3.84, 0);
	struct decision d = { 0 };
	scoped_buffer struct buffer text = BUFFER_MAX(4096);
	struct vm_load seen[6];
	struct pod *vms[6];

	for (int i = 0; i < 6; i++) {
		scoped_free char *name = xasprintf("busy-%d", i);

		vms[i] = given_vm(s->interner, name, 16);
		vms[i]->usage = (struct usage){ .seconds = 86400,
			.mean_cores = 0.6,
			.square_cores = 9 };
		seen[i] = given_vm_load(vms[i], 0.6);
		node_add_pod(s->nodes[1], vms[i], TIME_LONG_AGO);
	}
	unsteady.vms = seen;
	unsteady.vm_count = 6;
	node_set_load(s->nodes[0], &busy, now, now);
	node_set_load(s->nodes[1], &unsteady, now, now);
	decide(&d, s->vm, &cluster, &defaults, now);
	decision_sentence(&text, &d);
	assert_string_equal(decision_chosen(&d)->name, "node-a");
	assert_non_null(strstr(text.data, "node-a: 35 % CPU used"));
	assert_non_null(strstr(text.data,
		"core-minutes of shortage expected in the next hour on "
		"node-b, none on node-a"));
	assert_non_null(strstr(text.data, "mostly CPU"));
	assert_true(
		d.best[0].score.cpu_deviation < d.best[1].score.cpu_deviation);
	assert_true(d.best[0].score.cpu_room > d.best[1].score.cpu_room);
	decision_fini(&d);
	for (int i = 0; i < 6; i++) {
		node_remove_pod(s->nodes[1], vms[i]);
		pod_free(vms[i]);
	}
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(names_the_room_where_cpu_decides),
		test(names_the_shortage_where_the_vm_adds_some),
		test(names_siblings_that_peak_together),
		test(splits_what_is_expected),
		test(says_no_contention_only_where_it_is_known),
		test(names_the_inputs_of_each_term),
		test(points_of_half_are_one_with_both_signs),
		test(says_that_both_kubelets_rejected_pods),
		test(shows_the_pressure_that_gives_the_points),
		test(names_the_cpus_that_a_dedicated_vm_takes),
		test(shows_what_is_announced_after_its_share_only),
		test(explains_why_the_busier_node_won),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
