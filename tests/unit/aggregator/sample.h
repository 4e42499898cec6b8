/* Reports like those of an agent, for tests: all sources are present, and the
 * test sets the counters. */
#pragma once

#include "proto/report.h"
#include "tests/support/cm.h"

#include <stdio.h>
#include <string.h>

/* A report of a node with 4 CPUs, at_s seconds after the node's clock began. */
static inline struct report sample_report(uint64_t seq, double at_s)
{
	struct report r;

	report_init(&r);
	r.seq = seq;
	r.monotonic_us = (uint64_t)(at_s * 1e6);
	r.wall_us = r.monotonic_us;
	r.interval_ms = 2000;
	(void)snprintf(r.boot_id, sizeof(r.boot_id), "boot-1");
	r.cpu = (struct cpu_totals){ .state = SOURCE_PRESENT,
		.online = 4,
		.possible = 4 };
	r.pressure.cpu = (struct psi){ SOURCE_PRESENT, 0, 0 };
	r.pressure.memory = (struct psi){ SOURCE_PRESENT, 0, 0 };
	r.pressure.io = (struct psi){ SOURCE_PRESENT, 0, 0 };
	r.memory.state = SOURCE_PRESENT;
	r.memory.total_bytes = 1000;
	r.memory.available_bytes = 600;
	r.cgroup_mode = CGROUP_V2;
	return r;
}

/* The same of a node that has used `cores` CPUs since its clock began. */
static inline struct report steady_report(uint64_t seq, double at_s,
	double cores)
{
	struct report r = sample_report(seq, at_s);

	r.cpu.user_us = (uint64_t)(at_s * cores * 1e6);
	return r;
}

static inline struct vm_pod sample_vm(const char *uid, uint64_t inode)
{
	struct vm_pod vm;

	vm_pod_init(&vm);
	(void)snprintf(vm.pod_uid, sizeof(vm.pod_uid), "%s", uid);
	vm.cgroup_inode = inode;
	vm.cpu_usage_us = 0;
	vm.nr_throttled = 0;
	vm.throttled_us = 0;
	vm.pressure.cpu = (struct psi){ SOURCE_PRESENT, 0, 0 };
	vm.memory_current_bytes = 100;
	return vm;
}

/* The report owns a copy of the pods. */
static inline void sample_add_vms(struct report *r, const struct vm_pod *vms,
	size_t count)
{
	struct report with = *r;

	with.vms = (struct vm_pod *)(uintptr_t)vms;
	with.vm_count = count;
	report_copy(r, &with);
}
