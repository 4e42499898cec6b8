/* What is known of the VM pods of one node beyond their latest sample: rates,
 * a window, and the memory figures that only every fifth report has.
 *
 * One series per (pod uid, cgroup inode), in the order of the newest report's
 * pods. A pod that is gone takes its series along. */
#pragma once

#include "aggregator/rates.h"
#include "aggregator/window.h"

struct vm_series {
	struct vm_rates rates;
	struct window cores;
	double memory_bytes;	  /* anonymous, shared and huge pages */
	double working_set_bytes; /* the latest that was said */
};

struct series {
	struct vm_series *vms; /* owned */
	size_t count;
};

void series_fini(struct series *series); /* NULL and zeroed are fine */

/* Goes from the pods of before to those of after. rates are those between
 * them, in the order of after's pods; is_continued: windows stay valid. */
void series_move(struct series *series, const struct report *before,
	const struct report *after, const struct vm_rates *rates,
	bool is_continued);

/* Sum over the pods; NAN if one of them is not known. */
double series_working_set(const struct series *series);

/* Fills one VM's figures. report is the newest, vm its index there. */
void series_fill(struct vm_load *out, const struct series *series,
	const struct report *report, size_t vm);
