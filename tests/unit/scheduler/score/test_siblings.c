/* A cluster learns from its loads how far siblings move together, and decides
 * by it. Time is virtual: a step is five minutes. */
#include "scheduler/score/decide.h"

#include <math.h>

#include "kube/time.h"
#include "scheduler/cluster/kin_pass.h"
#include "tests/support/random.h"
#include "tests/unit/scheduler/given.h"

enum { NODES = 4, VMS_MAX = 24, DAY = 96 };

static const int64_t step_us = KIN_PASS_US;
static const struct filter_options defaults = FILTER_DEFAULTS;

struct world {
	struct interner *interner;
	struct cluster cluster;
	struct kin_pass pass;
	struct pod *vms[VMS_MAX];
	size_t node_of[VMS_MAX];
	double cores[VMS_MAX]; /* used in this step */
	size_t count;
	int64_t now_us;
};

static int setup(void **state)
{
	static const char *const names[] = { "node-a", "node-b", "node-c",
		"node-d" };
	struct world *w = xcalloc(1, sizeof(*w));

	w->interner = interner_new();
	cluster_init(&w->cluster, w->interner);
	for (int i = 0; i < NODES; i++) {
		cluster_add_node(&w->cluster,
			given_plain_node(w->interner, names[i]));
	}
	w->now_us = 100 * step_us;
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	kin_pass_fini(&w->pass);
	cluster_fini(&w->cluster);
	for (size_t i = 0; i < w->count; i++) {
		pod_free(w->vms[i]);
	}
	interner_free(w->interner);
	free(w);
	return 0;
}

/* A launcher of 4 vCPUs and 1 GiB. */
static struct pod *vm_of(struct world *w, const char *namespace, size_t number)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'p%zu','namespace':'%s','uid':'u%zu',"
		"'labels':{'kubevirt.io':'virt-launcher'},"
		"'annotations':{'kubevirt.io/domain':'vm%zu'}},"
		"'spec':{'containers':[{'name':'compute','resources':{"
		"'limits':{'cpu':'4'},'requests':{'cpu':'400m',"
		"'memory':'1Gi'}}}]}}",
		number, namespace, number, number);

	return given_pod(w->interner, json);
}

static void add_vm(struct world *w, const char *namespace, size_t node)
{
	size_t i = w->count++;

	w->vms[i] = vm_of(w, namespace, i);
	w->node_of[i] = node;
	cluster_add_pod(&w->cluster, w->cluster.nodes[node], w->vms[i],
		w->now_us - step_us);
}

static void report(struct world *w, size_t node)
{
	struct vm_load seen[VMS_MAX];
	struct node_load load = given_load(0, 0);
	double used = 0;

	load.vms = seen;
	for (size_t i = 0; i < w->count; i++) {
		if (w->node_of[i] == node) {
			seen[load.vm_count++] =
				given_vm_load(w->vms[i], w->cores[i]);
			used += w->cores[i];
		}
	}
	load.cpu_used_cores_10s = load.cpu_used_cores_5m = used;
	node_set_load(w->cluster.nodes[node], &load, w->now_us, w->now_us);
}

/* Returns how many slices the passes took. */
static size_t step(struct world *w)
{
	size_t slices = 0;

	w->now_us += step_us;
	for (size_t i = 0; i < NODES; i++) {
		report(w, i);
	}
	while (kin_pass_next(&w->pass, &w->cluster, w->now_us)) {
		slices++;
	}
	return slices;
}

/* The VMs of "farm" work in every fifth hour; those of "web" as they like;
 * those of "tenant" all at once. */
static void play_day(struct world *w)
{
	uint64_t seed = 5;

	for (int s = 0; s < DAY; s++) {
		double lockstep = (double)(random_next(&seed) % 3);

		for (size_t i = 0; i < w->count; i++) {
			const char *of = w->vms[i]->namespace;

			w->cores[i] = strcmp(of, "farm") == 0
				? (s / 12 % 5 == 1 ? 3.5 : 0.1)
				: strcmp(of, "tenant") == 0
				? lockstep * 2
				: 1.2 + (double)(random_next(&seed) % 9) / 20;
		}
		(void)step(w);
	}
}

static double rho_of(const struct world *w, const struct pod *pod)
{
	struct score_context context;

	decide_context(&context, pod, &w->cluster, NULL, w->now_us);
	return context.kin.rho;
}

/* node-a has less load than the others, and three idle VMs of the farm. */
static void a_farm_that_peaked_together_is_spread(void **state)
{
	struct world *w = *state;
	scoped_buffer struct buffer text = BUFFER_MAX(4096);
	struct decision d = { 0 };
	struct pod *next = vm_of(w, "farm", 99);

	for (size_t i = 0; i < 3; i++) {
		add_vm(w, "farm", 0);
	}
	for (size_t i = 0; i < 12; i++) {
		add_vm(w, "web", 1 + i % 3);
	}
	assert_true(rho_of(w, next) <= 0);
	decide(&d, next, &w->cluster, &defaults, w->now_us);
	assert_string_equal(decision_chosen(&d)->name, "node-a");
	play_day(w);
	assert_true(rho_of(w, next) > 0.8);
	assert_true(rho_of(w, w->vms[5]) < 0.1);
	decide(&d, next, &w->cluster, &defaults, w->now_us);
	assert_string_not_equal(decision_chosen(&d)->name, "node-a");
	decision_sentence(&text, &d);
	assert_null(strstr(text.data, "siblings")); /* not the next best */
	assert_int_equal(d.context.siblings, 3);
	decision_fini(&d);
	pod_free(next);
}

static void the_sentence_names_siblings_on_the_next_best_node(void **state)
{
	struct world *w = *state;
	scoped_buffer struct buffer text = BUFFER_MAX(4096);
	struct decision d = { 0 };
	struct cluster two = { 0 };
	struct pod *next = vm_of(w, "farm", 99);

	for (size_t i = 0; i < 3; i++) {
		add_vm(w, "farm", 0);
	}
	for (size_t i = 0; i < 12; i++) {
		add_vm(w, "web", 1 + i % 3);
	}
	play_day(w);
	two = w->cluster;
	two.count = 2;
	decide(&d, next, &two, &defaults, w->now_us);
	decision_sentence(&text, &d);
	assert_non_null(strstr(text.data,
		"3 of its 3 siblings are on node-a and peak together; node-b "
		"has none; this VM adds "));
	decision_fini(&d);
	pod_free(next);
}

/* The tenant has node-d alone, and its VMs swing ten times as far. */
static void a_tenant_in_lockstep_changes_no_others_placement(void **state)
{
	struct world *w = *state;
	struct pod *next = vm_of(w, "web", 99);
	double before[3];

	for (size_t i = 0; i < 12; i++) {
		add_vm(w, i % 4 == 0 ? "farm" : "web", i % 3);
	}
	play_day(w);
	for (int round = 0; round < 2; round++) {
		struct score_context context;

		decide_context(&context, next, &w->cluster, NULL, w->now_us);
		for (size_t i = 0; i < 3; i++) {
			double score =
				score_total(w->cluster.nodes[i], &context);

			assert_true(round == 0 || fabs(score - before[i]) < 1);
			before[i] = score;
		}
		for (size_t i = 0; i < 8 && round == 0; i++) {
			add_vm(w, "tenant", 3);
		}
		play_day(w);
	}
	assert_true(rho_of(w, w->vms[w->count - 1]) > 0.8);
	pod_free(next);
}

static void a_pass_ends_and_waits_for_the_next(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < 12; i++) {
		add_vm(w, "farm", i % 3);
	}
	assert_true(step(w) > 0);
	assert_false(
		kin_pass_next(&w->pass, &w->cluster, w->now_us + step_us - 1));
	assert_true(kin_pass_next(&w->pass, &w->cluster, w->now_us + step_us));
	/* A node that leaves meanwhile is left out. */
	for (size_t i = 0; i < 3; i++) {
		cluster_remove_pod(&w->cluster, w->cluster.nodes[0],
			w->vms[i * 3]);
	}
	assert_true(step(w) > 0);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_farm_that_peaked_together_is_spread),
		test(the_sentence_names_siblings_on_the_next_best_node),
		test(a_tenant_in_lockstep_changes_no_others_placement),
		test(a_pass_ends_and_waits_for_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
