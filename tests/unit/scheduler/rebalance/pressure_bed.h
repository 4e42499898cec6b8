/* Nodes, VMs and watches for tests of rebalance/pressure.h. */
#pragma once

#include <math.h>
#include <stdio.h>

#include "lib/memory.h"
#include "scheduler/rebalance/pressure.h"
#include "tests/support/golden.h"
#include "tests/unit/scheduler/given.h"

enum { BED_NODES = 8, BED_VMS = 64 };

#define BED_GIB ((double)(1 << 30))
#define BED_SECOND INT64_C(1000000)

struct bed_node {
	double available_gib; /* of 64; 0: 32 */
	double memory_full, io_full;
	enum kvm_state kvm_state; /* 0: ok */
	double cores;		  /* used outside the VMs */
};

struct bed_vm {
	size_t node; /* by rising node */
	double gib;  /* used, and copied */
	double swap_gib;
	double memory_pressure, io_pressure;
	double cores;
};

struct bed {
	struct fleet fleet;
	struct node nodes[BED_NODES];
	struct pod pods[BED_VMS];
	char names[BED_NODES][16], uids[BED_VMS][16];
	struct pressure_watch watches[BED_NODES];
	size_t forbidden; /* a node that the filters refuse, or SIZE_MAX */
};

static inline const struct pressure_watch *bed_watch(void *owner,
	const struct fleet_node *node)
{
	struct bed *bed = owner;

	return &bed->watches[node->node - bed->nodes];
}

static inline bool bed_may_run(void *owner, const struct fleet_vm *vm,
	const struct fleet_node *target)
{
	struct bed *bed = owner;

	(void)vm;
	return bed->forbidden == SIZE_MAX ||
		target->node != &bed->nodes[bed->forbidden];
}

static inline void bed_open(struct bed *bed)
{
	*bed = (struct bed){ .forbidden = SIZE_MAX };
	for (size_t i = 0; i < BED_NODES; i++) {
		(void)snprintf(bed->names[i], sizeof(bed->names[i]), "n%zu", i);
		bed->nodes[i].name = bed->names[i];
	}
	for (size_t i = 0; i < BED_VMS; i++) {
		(void)snprintf(bed->uids[i], sizeof(bed->uids[i]), "u%zu", i);
		bed->pods[i].uid = bed->uids[i];
	}
}

static inline void bed_close(struct bed *bed)
{
	for (size_t i = 0; i < BED_NODES; i++) {
		pressure_watch_fini(&bed->watches[i]);
	}
	fleet_fini(&bed->fleet);
}

/* The load of node i at that time, with its VMs; count is of all. */
static inline void bed_note(struct bed *bed, size_t i,
	const struct bed_node *node, const struct bed_vm *vms, size_t count,
	int64_t at_us)
{
	struct vm_load loads[BED_VMS];
	struct node_load load = given_load(node->cores, 0);

	load.memory_available_bytes =
		BED_GIB * (node->available_gib > 0 ? node->available_gib : 32);
	load.memory_pressure_full_60s = node->memory_full;
	load.io_pressure_full_60s = node->io_full;
	load.kvm_state =
		node->kvm_state == KVM_UNVERIFIED ? KVM_OK : node->kvm_state;
	load.vms = loads;
	for (size_t v = 0; v < count; v++) {
		struct vm_load *vm = &loads[load.vm_count];

		if (vms[v].node != i) {
			continue;
		}
		vm_load_init(vm);
		memcpy(vm->pod_uid, bed->uids[v], sizeof(bed->uids[v]));
		vm->memory_bytes = vms[v].gib * BED_GIB;
		vm->swap_bytes = vms[v].swap_gib > 0 ? vms[v].swap_gib * BED_GIB
						     : (double)NAN;
		vm->memory_pressure = vms[v].memory_pressure;
		vm->io_pressure = vms[v].io_pressure;
		load.vm_count++;
	}
	pressure_watch_note(&bed->watches[i], &load, at_us);
	node_metrics_set(&bed->nodes[i].metrics, &load, at_us);
}

/* A new fleet of these nodes and VMs. */
static inline void bed_fleet(struct bed *bed, const struct bed_node *nodes,
	size_t node_count, const struct bed_vm *vms, size_t vm_count)
{
	fleet_clear(&bed->fleet);
	for (size_t i = 0; i < node_count; i++) {
		(void)fleet_add_node(&bed->fleet, &bed->nodes[i], 16,
			nodes[i].cores);
		for (size_t v = 0; v < vm_count; v++) {
			if (vms[v].node != i) {
				continue;
			}
			(void)fleet_add_vm(&bed->fleet,
				&(struct fleet_vm){ .pod = &bed->pods[v],
					.vcpus = 4,
					.cores = vms[v].cores,
					.variance = 0.16,
					.third = 0.64,
					.memory_bytes = vms[v].gib * BED_GIB,
					.may_move = true });
		}
	}
}

/* The best move of a whole round. */
static inline bool bed_search(struct bed *bed, int64_t now_us,
	struct pressure_move *out)
{
	struct pressure_search search = { 0 };
	const struct pressure_options options = { bed_watch, bed_may_run, bed };

	assert_true(pressure_search(&search, &bed->fleet, &options, now_us,
		SIZE_MAX));
	*out = search.best;
	golden_tell(
		"%d: %zu > %zu, gain %.6g, reason %d, only advice %d, %.6g "
		"%.6g %.6g %.6g %.6g; %s\n",
		search.has_best, out->move.vm, out->move.target, out->move.gain,
		(int)out->reason, out->is_recommendation_only, out->severity,
		out->relief, out->relief_per_gb, out->copied_bytes,
		out->needed_bytes, out->text);
	return search.has_best;
}
