/* What is known of the VM pods of one node beyond their latest sample: rates
 * and a window.
 *
 * One series per (pod uid, cgroup inode), in the order of the newest report's
 * pods. A pod that is gone takes its series along. */
#pragma once

#include "aggregator/series/rates.h"
#include "aggregator/series/window.h"

struct vm_series {
	struct vm_rates rates;
	struct window cores;
};

struct series {
	struct vm_series *vms; /* owned */
	size_t count;
};

void series_fini(struct series *series); /* NULL and zeroed are fine */

/* Goes from the pods of before to those of after. rates are those between
 * them, in the order of after's pods; is_continued: windows stay valid. What
 * only every fifth report says of a pod is carried over from before where after
 * does not say it. */
void series_move(struct series *series, const struct report *before,
	struct report *after, const struct vm_rates *rates, bool is_continued);

/* Adds to the windows what others hold of the same pods; the reports are those
 * that they are of. */
void series_merge(struct series *series, const struct report *report,
	const struct series *other, const struct report *others);

/* Fills one VM's figures. report is the newest, vm its index there. */
void series_fill(struct vm_load *out, const struct series *series,
	const struct report *report, size_t vm);
