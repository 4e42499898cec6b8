/* The nodes and running VMs as a choice of moves sees them: plain figures.
 *
 * `simulate` makes a fleet of a scenario, the mover makes one of the cache. The
 * figures of a VM come from forecast/: what the VM is expected to use during
 * the next hour. A VM in flight, whoever ordered its move, counts in the sums
 * of its target alone, because it leaves its source anyway. (Filters and
 * placement count it on both nodes.) Pure. */
#pragma once

#include "scheduler/cluster/node.h"
#include "scheduler/forecast/kin_sums.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fleet_vm {
	const struct pod *pod; /* borrowed; its launcher pod */
	size_t node;	       /* index of the node in whose list it is */
	double vcpus;
	/* The expected cores, the variance (cores squared) and the third
	 * central moment (cores cubed). */
	double cores, variance, third;
	kin_key kin;
	double rho; /* its kin's */
	/* The part of `cores` that only an announcement explains. */
	double announced_cores;
	double used_cores; /* last observed demand */
	/* Memory that a copy transfers, in bytes. */
	double memory_bytes;
	/* False: in flight, cooling down, observed for less than two samples,
	 * or not to be moved. */
	bool may_move;
};

struct fleet_node {
	const struct node *node; /* borrowed */
	double cores;		 /* shared cores */
	double used_cores;	 /* last observed demand */
	/* Sums over the VMs that will be there, with the uncertainty of the
	 * node in the variance. */
	double mean, variance, third;
	struct kin_sums kin;	   /* owned; not in these sums */
	double shortage;	   /* by these sums: forecast/shortage.h */
	size_t first_vm, vm_count; /* its VMs in struct fleet */
	/* False: no fresh data, a limit is reached, someone else works on the
	 * node, or a failure forbids it. */
	bool may_give, may_take;
};

struct fleet {
	struct fleet_node *nodes; /* owned */
	size_t node_count, node_capacity;
	struct fleet_vm *vms; /* owned; by node */
	size_t vm_count, vm_capacity;
};

/* A move of fleet.vms[vm] to fleet.nodes[target]. The shortages are expected
 * core-steps of 5 minutes within the next hour. */
struct fleet_move {
	size_t vm, target;
	double gain; /* what the move saves, less its price */
	double source_before, source_after, target_before, target_after;
};

/* The node's filters admit the VM: see filter/filter.h. */
typedef bool (*fleet_may_run)(void *owner, const struct fleet_vm *vm,
	const struct fleet_node *target);

void fleet_clear(struct fleet *fleet); /* keeps the memory for the next one */
void fleet_fini(struct fleet *fleet);  /* zeroed is fine */

/* Adds a node, then its VMs, then the next node. The sums start with the
 * node's uncertainty; every VM adds to them. base_cores: the use of the node
 * outside its VMs. The results are valid until the next call. */
struct fleet_node *fleet_add_node(struct fleet *fleet, const struct node *node,
	double cores, double base_cores);
/* vm->node is set here. */
struct fleet_vm *fleet_add_vm(struct fleet *fleet, const struct fleet_vm *vm);

/* The cores of shortage of a node without the VM, or with it. The VM's kin on
 * the node count with it. */
double fleet_shortage_without(const struct fleet_node *node,
	const struct fleet_vm *vm);
double fleet_shortage_with(const struct fleet_node *node,
	const struct fleet_vm *vm);

/* The move is ordered: the sums, the used cores and the VM's may_move change.
 * The VM stays in the list of its source. */
void fleet_apply(struct fleet *fleet, const struct fleet_move *move);
