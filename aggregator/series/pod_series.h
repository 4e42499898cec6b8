/* Rates and a window of each VM pod of a node.
 *
 * One series per pod uid and cgroup inode, in the order of the pods in the
 * newest report. The series of a pod that is gone is dropped. */
#pragma once

#include "aggregator/series/rates.h"
#include "aggregator/series/window.h"

struct pod_series_entry {
	struct vm_rates rates;
	struct window cores;
	/* When the values that agents read in turn were read last, on the
	 * agent's clock (series/slow_values.h); 0: never. */
	uint64_t pressures_us, memory_us;
	/* Means that fade with a time constant of 60 s; NAN: unknown. A window
	 * of each would take ten times the memory. */
	float memory_full, io_full;
};

struct pod_series {
	struct pod_series_entry *vms; /* owned */
	size_t count;
};

void pod_series_fini(struct pod_series *series); /* NULL and zeroed are fine */

/* Moves on from the report `before` to the report `after`. rates are the rates
 * between them, by the pods of after. Unless is_continued, windows are cleared.
 * Slow values that after does not have are copied from before while they are
 * current; the mean of a pressure stays as it is until a report has it. */
void pod_series_move(struct pod_series *series, const struct report *before,
	struct report *after, const struct vm_rates *rates, bool is_continued);

/* Adds the windows that `other` has of the same pods. The reports are the
 * newest ones of each. */
void pod_series_merge(struct pod_series *series, const struct report *report,
	const struct pod_series *other, const struct report *others);

/* Fills in the figures of a VM, the pod at index vm of the newest report. */
void pod_series_fill(struct vm_load *out, const struct pod_series *series,
	const struct report *report, size_t vm);
