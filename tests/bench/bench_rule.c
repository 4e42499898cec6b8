/* The CPU time of one round of the rule over 1,000 nodes and 30,000 VMs, and of
 * its longest slice, for three clusters: a tenth of the nodes hot; all of them
 * at 75 %; all of them full, where no target is good. No I/O. */
#include "scheduler/rebalance/rule.h"

#include "lib/memory.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

enum { NODES = 1000, VMS = 30, ROUNDS = 21 };

static unsigned int seed = 1;
static char names[NODES * VMS][16];
static struct node nodes[NODES];
static struct pod pods[NODES * VMS];

/* getrusage() counts in ticks of the scheduler here. */
static double cpu_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double random_to(double most)
{
	seed = seed * 1103515245U + 12345U;
	return most * (double)(seed >> 16 & 0x7fff) / 0x7fff;
}

static void fill_node(struct fleet *fleet, size_t i, double load)
{
	static const double sizes[] = { 1, 2, 2, 4, 4, 8, 16 };
	struct fleet_vm vms[VMS];
	double cores = 0;

	for (int v = 0; v < VMS; v++) {
		double vcpus = sizes[(int)random_to(6.9)];
		double deviation = vcpus * random_to(0.15);

		vms[v] = (struct fleet_vm){
			.pod = &pods[i * VMS + (size_t)v],
			.vcpus = vcpus,
			.cores = vcpus * random_to(1),
			.variance = deviation * deviation,
			.third = deviation * deviation * vcpus,
			.memory_bytes = 4e9,
			.may_move = true,
		};
		cores += vms[v].cores;
	}
	(void)fleet_add_node(fleet, &nodes[i], cores / load, 0);
	for (int v = 0; v < VMS; v++) {
		(void)fleet_add_vm(fleet, &vms[v]);
	}
}

static bool may_run(void *owner, const struct fleet_vm *vm,
	const struct fleet_node *target)
{
	(void)owner;
	(void)vm;
	return target->may_take;
}

static void measure(const char *what, double load, double hot_load)
{
	const struct rule_options options = { .price = RULE_PRICE,
		.may_run = may_run };
	struct fleet fleet = { 0 };
	double best_us = DBL_MAX;
	double best_slice_us = DBL_MAX;
	double fill_us = cpu_us();
	bool has_best = false;

	for (size_t i = 0; i < NODES; i++) {
		fill_node(&fleet, i, i % 10 == 0 ? hot_load : load);
	}
	fill_us = cpu_us() - fill_us;
	for (int round = 0; round < ROUNDS; round++) {
		struct rule_search search = { 0 };
		double total_us = 0;
		double longest_us = 0;
		bool is_done = false;

		while (!is_done) {
			double took_us = -cpu_us();

			is_done = rule_search(&search, &fleet, &options,
				RULE_SLICE);
			took_us += cpu_us();
			total_us += took_us;
			longest_us = fmax(longest_us, took_us);
		}
		has_best = search.has_best;
		rule_search_fini(&search);
		best_us = fmin(best_us, total_us);
		best_slice_us = fmin(best_slice_us, longest_us);
	}
	(void)printf(
		"rule: %s, %d nodes, %d VMs: a round %.1f ms, its longest "
		"slice %.2f ms, the fleet %.1f ms%s\n",
		what, NODES, NODES * VMS, best_us / 1e3, best_slice_us / 1e3,
		fill_us / 1e3, has_best ? "" : ", no move");
	fleet_fini(&fleet);
}

int main(void)
{
	for (size_t i = 0; i < count_of(pods); i++) {
		(void)snprintf(names[i], sizeof(names[i]), "vm-%05zu", i);
		pods[i] = (struct pod){ .namespace = names[0],
			.vm_name = names[i],
			.name = names[i] };
	}
	for (size_t i = 0; i < NODES; i++) {
		nodes[i].name = names[i];
	}
	measure("a tenth hot", 0.5, 0.9);
	measure("all at 75 %", 0.75, 0.75);
	measure("all full", 0.97, 1.1);
	return 0;
}
