/* Values of pods that agents do not read for each report: memory, and the
 * pressures of memory and io. Pure.
 *
 * A report that was made without reading a value does not have it. So a total
 * that is there was read for that report, and the rate since the last report
 * that has it is right, whatever lies between them. The value is kept until the
 * next report that has it, but not for longer than the agent lets it become. */
#pragma once

#include "proto/report.h"

#include <stdbool.h>

/* True: the memory figures of the pod, or both pressures, were read for this
 * report. An agent reads all memory figures together, and both pressures. */
bool slow_values_has_memory(const struct report *report,
	const struct vm_pod *vm);
bool slow_values_has_pressures(const struct vm_pod *vm);

void slow_values_copy_memory(struct vm_pod *to, const struct vm_pod *from);
void slow_values_copy_pressures(struct vm_pod *to, const struct vm_pod *from);

/* True: values that were read at read_us, on the agent's clock, may be shown
 * with this report: they are fresh by load_state(), with the time between two
 * readings as the interval. 0 is never. */
bool slow_values_are_current(const struct report *report, uint64_t read_us);

/* Copies the memory figures of the pods that `after` does not have them of from
 * `before`, a report shortly before it. */
void slow_values_carry_memory(struct report *after,
	const struct report *before);
