/* The time that an outlook on 1,000 and on 5,000 nodes takes on the scheduler's
 * event loop, and its size. Every node has a load and 20 VMs, of which one is
 * new. The room is not in it. No I/O. */
#include "scheduler/answers/outlook.h"

#include "lib/clock.h"
#include "proto/question.h"
#include "tests/unit/scheduler/given.h"

#include <stdio.h>

enum { NODES = 5000, VMS = 20, ROUNDS = 51 };

static const int64_t now = 1000 * INT64_C(1000000);

static int compare_times(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a;
	const uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static struct pod *make_vm(struct interner *interner, int i)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'launcher-%d','namespace':'vms','uid':"
		"'uid-%d','labels':{'kubevirt.io':'virt-launcher'},"
		"'annotations':{'kubevirt.io/domain':'vm-%d'}},'spec':{"
		"'containers':[{'name':'compute','resources':{'requests':{"
		"'cpu':'400m','memory':'4Gi'}}}]}}",
		i, i, i);

	return given_pod(interner, json);
}

static struct node *make_node(struct interner *interner,
	struct pod *const vms[VMS], int i)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'worker-%04d.example.com'},'status':{"
		"'allocatable':{'cpu':'96','memory':'512Gi','pods':'110'}}}",
		i);
	struct json_value *object = given_json(json);
	struct node_load load = given_load(i % 16 + 0.123456, i % 60 * 1e9);
	struct node *node = NULL;

	assert_int_equal(node_new(&node, interner, object, NULL), 0);
	json_value_free(object);
	for (int k = 0; k < VMS; k++) {
		node_add_pod(node, vms[k], k == 0 ? now : now / 2);
	}
	node_set_load(node, &load, now - INT64_C(1000000) * (i % 5), now);
	return node;
}

static void measure(struct node **nodes, size_t count)
{
	const struct cluster cluster = { .nodes = nodes, .count = count };
	const struct outlook outlook = { .cluster = &cluster,
		.scheduler = "scheduler-0",
		.rebalance = "Recommend",
		.why = "--rebalance is recommend",
		.now_us = now };
	static uint64_t times[ROUNDS];
	size_t bytes = 0;

	for (int i = 0; i < ROUNDS; i++) {
		scoped_buffer struct buffer out = BUFFER_MAX(ANSWER_BODY_MAX);

		times[i] = clock_monotonic_us();
		outlook_write(&out, &outlook);
		times[i] = clock_monotonic_us() - times[i];
		bytes = out.len;
	}
	qsort(times, ROUNDS, sizeof(times[0]), compare_times);
	(void)printf(
		"scheduler: an outlook on %zu nodes, %d VMs each: p50 %llu us, "
		"longest %llu us, %zu bytes\n",
		count, VMS, (unsigned long long)times[ROUNDS / 2],
		(unsigned long long)times[ROUNDS - 1], bytes);
}

int main(void)
{
	struct interner *interner = interner_new();
	static struct node *nodes[NODES];
	struct pod *vms[VMS];

	for (int i = 0; i < VMS; i++) {
		vms[i] = make_vm(interner, i);
	}
	for (int i = 0; i < NODES; i++) {
		nodes[i] = make_node(interner, vms, i);
	}
	measure(nodes, NODES / 5);
	measure(nodes, NODES);
	for (int i = 0; i < NODES; i++) {
		node_free(nodes[i]);
	}
	for (int i = 0; i < VMS; i++) {
		pod_free(vms[i]);
	}
	interner_free(interner);
	return 0;
}
