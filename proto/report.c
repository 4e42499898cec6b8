#include "proto/report.h"

#include "lib/map.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

/* A row of the table as an initializer: unknown. */
#define INIT(of, kind, name, ...) .name = INIT_##kind,
#define INIT_U64 REPORT_UNKNOWN
#define INIT_COUNT 0
#define INIT_STATE SOURCE_UNKNOWN
#define INIT_CGROUP_MODE CGROUP_UNKNOWN
#define INIT_DOUBLE NAN

static const struct psi unknown_psi = { PSI_FIELDS(INIT, ) };

void report_init(struct report *report)
{
	const struct pressure unknown = { unknown_psi, unknown_psi,
		unknown_psi };

	*report = (struct report){ .cpu = { CPU_FIELDS(INIT, ) },
		.pressure = unknown,
		.kubepods = unknown,
		.irq = unknown_psi,
		.memory = { MEMORY_FIELDS(INIT, ) },
		.own = { OWN_COST_FIELDS(INIT, ) },
		REPORT_LOAD_FIELDS(INIT, ) REPORT_VMS_FIELDS(INIT, ) };
}

void vm_pod_init(struct vm_pod *vm)
{
	*vm = (struct vm_pod){ .pressure = { unknown_psi, unknown_psi,
				       unknown_psi },
		VM_POD_CPU_FIELDS(INIT, ) VM_POD_MEMORY_FIELDS(INIT, ) };
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

/* So few pods are compared with each other faster than through a map. */
enum { FEW_PODS = 64 };

static bool is_among(const struct vm_pod *vms, size_t count, const char *uid)
{
	for (size_t i = 0; i < count; i++) {
		/* Few uids share a first letter, so strcmp() is rare. */
		if (vms[i].pod_uid[0] == uid[0] &&
			strcmp(vms[i].pod_uid, uid) == 0) {
			return true;
		}
	}
	return false;
}

void report_drop_duplicates(struct report *report)
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
