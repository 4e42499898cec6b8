/* Loads of nodes and VMs for tests. */
#pragma once

#include <string.h>

#include "proto/load.h"
#include "scheduler/objects/pod.h"

/* The load of a VM whose use is constant. */
static inline struct vm_load given_vm_load(const struct pod *pod, double cores)
{
	struct vm_load vm;

	vm_load_init(&vm);
	strncpy(vm.pod_uid, pod->uid, sizeof(vm.pod_uid) - 1);
	vm.used_cores = cores;
	vm.used_cores_5m = cores;
	return vm;
}

/* The load of a node with 16 cores and 64 GiB, without pressure. */
static inline struct node_load given_load(double used_cores, double used_bytes)
{
	struct node_load load;

	node_load_init(&load);
	load.interval_ms = 2000;
	load.kvm_state = KVM_OK;
	load.cpu_cores = 16;
	load.cpu_used_cores = used_cores;
	load.cpu_used_cores_10s = used_cores;
	load.cpu_used_cores_5m = used_cores;
	load.cpu_stdev_cores_5m = 0;
	load.memory_total_bytes = 64.0 * (1 << 30);
	load.memory_available_bytes = load.memory_total_bytes - used_bytes;
	load.memory_pressure_some = 0;
	load.io_pressure_some = 0;
	return load;
}
