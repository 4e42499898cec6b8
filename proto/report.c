#include "proto/report.h"

#include "lib/map.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

static const struct psi unknown_psi = { SOURCE_UNKNOWN, REPORT_UNKNOWN,
	REPORT_UNKNOWN };

static const struct pressure unknown_pressure = {
	{ SOURCE_UNKNOWN, REPORT_UNKNOWN, REPORT_UNKNOWN },
	{ SOURCE_UNKNOWN, REPORT_UNKNOWN, REPORT_UNKNOWN },
	{ SOURCE_UNKNOWN, REPORT_UNKNOWN, REPORT_UNKNOWN },
};

void report_init(struct report *report)
{
	const uint64_t none = REPORT_UNKNOWN;

	*report = (struct report){
		.cpu = { .user_us = none,
			.nice_us = none,
			.system_us = none,
			.idle_us = none,
			.iowait_us = none,
			.irq_us = none,
			.softirq_us = none,
			.steal_us = none },
		.pressure = unknown_pressure,
		.kubepods = unknown_pressure,
		.memory = { .total_bytes = none,
			.available_bytes = none,
			.swap_total_bytes = none,
			.swap_free_bytes = none,
			.ksm_saved_bytes = none },
		.irq = unknown_psi,
		.own = { none, none, none },
		.vms_skipped = none,
		.load1 = NAN,
		.load5 = NAN,
		.load15 = NAN,
	};
}

void vm_pod_init(struct vm_pod *vm)
{
	const uint64_t none = REPORT_UNKNOWN;

	*vm = (struct vm_pod){
		.cpu_usage_us = none,
		.nr_throttled = none,
		.throttled_us = none,
		.pressure = { unknown_psi, unknown_psi, unknown_psi },
		.memory_current_bytes = none,
		.working_set_bytes = none,
		.anon_shmem_bytes = none,
		.swap_bytes = none,
		.oom_kills = none,
	};
}

void report_fini(struct report *report)
{
	if (report != NULL) {
		free(report->vms);
		report->vms = NULL;
		report->vm_count = 0;
	}
}

void report_borrow(struct report *out, const struct report *from)
{
	memcpy(out, from,
		offsetof(struct report, numa_hugepages) +
			from->numa_hugepages_count *
				sizeof(from->numa_hugepages[0]));
}

void report_move(struct report *out, struct report *from)
{
	report_borrow(out, from);
	from->vms = NULL;
	from->vm_count = 0;
}

void report_copy(struct report *out, const struct report *from)
{
	*out = *from;
	out->vms = from->vm_count == 0
		? NULL
		: xmemdup(from->vms, from->vm_count * sizeof(*from->vms));
}

/* Few are compared with each other sooner than they are put into a map. */
enum { FEW_PODS = 64 };

static bool is_among(const struct vm_pod *vms, size_t count, const char *uid)
{
	for (size_t i = 0; i < count; i++) {
		/* Nearly all differ in the first letters: a call for few. */
		if (vms[i].pod_uid[0] == uid[0] &&
			strcmp(vms[i].pod_uid, uid) == 0) {
			return true;
		}
	}
	return false;
}

void report_drop_twins(struct report *report)
{
	bool has_few = report->vm_count <= FEW_PODS;
	struct map seen = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < report->vm_count; i++) {
		const struct vm_pod *vm = &report->vms[i];

		if (has_few ? is_among(report->vms, kept, vm->pod_uid)
			    : map_put(&seen, vm->pod_uid, report) != NULL) {
			continue;
		}
		if (kept != i) {
			report->vms[kept] = *vm;
		}
		kept++;
	}
	report->vm_count = kept;
	map_fini(&seen);
}

const char *source_state_name(enum source_state state)
{
	static const char *const names[] = { "unknown", "present", "absent",
		"disabled", "error" };

	return names[state];
}

const char *cgroup_mode_name(enum cgroup_mode mode)
{
	static const char *const names[] = { "unknown", "v2", "hybrid", "v1" };

	return names[mode];
}
