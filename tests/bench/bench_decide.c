/* The time of one decision over 5,000 nodes with virt-handler's labels, for the
 * launcher pod of a plain VM and for a migration target, whose affinity needs
 * all pods. Every node is feasible and scored; one in fifty has stale data, and
 * one in two has an unseen VM. No I/O. */
#include "scheduler/score/decide.h"

#include "lib/clock.h"
#include "tests/unit/scheduler/given.h"

#include <stdio.h>

enum { NODES = 5000, ROUNDS = 501 };

static const int64_t now = 1000 * INT64_C(1000000);

static int compare_times(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a;
	const uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static struct node *make_node(struct interner *interner, const struct pod *vm,
	int i)
{
	struct json_value *objects = given_file(GIVEN_DIR "nodes.json");
	struct node_load load = given_load(i % 16, i % 60 * 1e9);
	struct node *node = NULL;

	assert_int_equal(
		node_new(&node, interner, json_value_first(objects), NULL), 0);
	node_add_pod(node, vm, now - INT64_C(1000000) * (i % 600));
	node_set_load(node, &load,
		now - INT64_C(1000000) * (i % 50 == 0 ? 99 : i % 5), now);
	json_value_free(objects);
	return node;
}

static void measure(const char *what, const struct pod *pod,
	const struct cluster *cluster)
{
	const struct filter_options options = FILTER_DEFAULTS;
	struct decision decision = { 0 };
	static uint64_t times[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		times[i] = clock_monotonic_us();
		decide(&decision, pod, cluster, &options, now);
		times[i] = clock_monotonic_us() - times[i];
	}
	qsort(times, ROUNDS, sizeof(times[0]), compare_times);
	(void)printf(
		"scheduler: one decision, %s, %d nodes, %zu scored: p50 %llu "
		"us, p99 %llu us\n",
		what, NODES, decision.feasible_count,
		(unsigned long long)times[ROUNDS / 2],
		(unsigned long long)times[ROUNDS * 99 / 100]);
	decision_fini(&decision);
}

int main(void)
{
	struct interner *interner = interner_new();
	struct pod *pod =
		given_pod_of(interner, given_file(GIVEN_DIR "pod-plain.json"));
	struct pod *target =
		given_pod_of(interner, given_file(GIVEN_DIR "pod-plain.json"));
	struct pod *recorded = given_pod_of(interner,
		given_file(GIVEN_DIR "pod-migration-target.json"));
	struct pod *vm = given_vm(interner, "other", 4);
	static struct node *nodes[NODES];
	const struct cluster cluster = { .nodes = nodes, .count = NODES };

	for (int i = 0; i < NODES; i++) {
		nodes[i] = make_node(interner, vm, i);
	}
	/* The recorded target also requires labels that the nodes lack. */
	target->affinity = recorded->affinity;
	recorded->affinity = (struct pod_affinity){ 0 };
	measure("a plain VM", pod, &cluster);
	measure("a migration target", target, &cluster);
	for (int i = 0; i < NODES; i++) {
		node_free(nodes[i]);
	}
	pod_free(pod);
	pod_free(target);
	pod_free(recorded);
	pod_free(vm);
	interner_free(interner);
	return 0;
}
