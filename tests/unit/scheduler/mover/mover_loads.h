/* The loads that the agents of the cluster send in tests of the mover. */
#pragma once

#include "tests/unit/scheduler/mover/mover_cluster.h"

/* The first VM holds twice the memory of the others and waits most. */
static inline void trouble(struct node_load *load, struct vm_load *vms)
{
	if (scene.trouble == MOVE_FOR_MEMORY) {
		load->memory_available_bytes = 500e6;
		vms[0].memory_bytes = 4e9;
	} else if (scene.trouble == MOVE_FOR_IO) {
		load->io_pressure_full_60s = 0.6;
		vms[0].io_pressure = 0.5;
		for (size_t i = 1; i < scene.vms - 1; i++) {
			vms[i].io_pressure = 0.3;
		}
		if (scene.vms > VMS) {
			vms[scene.vms - 1].io_pressure = 0.1;
		}
	} else if (scene.trouble == MOVE_FOR_KVM) {
		load->kvm_state = KVM_CREATE_FAILED;
	}
}

/* A load of the node with this use of each VM that it lists. */
static inline void put_load(const char *node, const char *const *vms,
	size_t count, double cores)
{
	struct node_load load = given_load(cores * (double)count, 8e9);
	struct vm_load list[VMS_MAX];
	bool changed;
	scoped_free char *name = xstrdup(node);

	for (size_t i = 0; i < count; i++) {
		vm_load_init(&list[i]);
		(void)snprintf(list[i].pod_uid, sizeof(list[i].pod_uid),
			"pod-%s", vms[i]);
		list[i].used_cores = cores;
		list[i].used_cores_5m = cores;
		list[i].memory_bytes = 2e9;
	}
	if (count > 0) {
		load.cpu_used_cores += scene.outside;
		trouble(&load, list);
	}
	load.name = name;
	load.vms = list;
	load.vm_count = count;
	cache_put_load(&scene.cache, &changed, &load, now_us(), now_us());
	mover_note_load(scene.mover, &load, now_us());
}

static const char *const vm_names[VMS_MAX] = { "a", "b", "c", "d", "e", "f" };

static inline void put_loads(double cores)
{
	put_load("node-1", vm_names, scene.vms, cores);
	put_load("node-2", NULL, 0, 0);
}
