#include "aggregator/series/slow_values.h"

#include "aggregator/series/rates.h"
#include "proto/load.h"

#include <string.h>

/* Reports of memory of agents that do not say it. */
enum { SLOW_EVERY = 5 };

bool slow_values_has_pressures(const struct vm_pod *vm)
{
	return vm->pressure.memory.state != SOURCE_UNKNOWN &&
		vm->pressure.io.state != SOURCE_UNKNOWN;
}

/* An agent that says slow_every reads memory and pressures together, so memory
 * that it could not read is unknown. An older one reads pressures each time. */
bool slow_values_has_memory(const struct report *report,
	const struct vm_pod *vm)
{
	return vm->working_set_bytes != REPORT_UNKNOWN ||
		vm->anon_shmem_bytes != REPORT_UNKNOWN ||
		vm->hugetlb_count > 0 ||
		(report->slow_every > 0 && slow_values_has_pressures(vm));
}

/* An older agent reads memory_current_bytes each time. */
void slow_values_copy_memory(struct vm_pod *to, const struct vm_pod *from)
{
	if (to->memory_current_bytes == REPORT_UNKNOWN) {
		to->memory_current_bytes = from->memory_current_bytes;
	}
	to->working_set_bytes = from->working_set_bytes;
	to->anon_shmem_bytes = from->anon_shmem_bytes;
	to->swap_bytes = from->swap_bytes;
	to->oom_kills = from->oom_kills;
	to->hugetlb_count = from->hugetlb_count;
	memcpy(to->hugetlb, from->hugetlb, sizeof(to->hugetlb));
}

void slow_values_copy_pressures(struct vm_pod *to, const struct vm_pod *from)
{
	to->pressure.memory = from->pressure.memory;
	to->pressure.io = from->pressure.io;
}

bool slow_values_are_current(const struct report *report, uint64_t read_us)
{
	uint64_t every =
		report->slow_every > 0 ? report->slow_every : SLOW_EVERY;
	uint64_t between_ms = every * report->interval_ms;

	if (between_ms > UINT32_MAX) {
		between_ms = UINT32_MAX;
	}
	return read_us > 0 &&
		load_state(report->monotonic_us - read_us,
			(uint32_t)between_ms) == LOAD_FRESH;
}

void slow_values_carry_memory(struct report *after, const struct report *before)
{
	struct vm_cursor cursor = { 0 };

	for (size_t i = 0; i < after->vm_count; i++) {
		struct vm_pod *vm = &after->vms[i];
		const struct vm_pod *was = rates_find_vm(before, vm, &cursor);

		if (was != NULL && !slow_values_has_memory(after, vm)) {
			slow_values_copy_memory(vm, was);
		}
	}
}
