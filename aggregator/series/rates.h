/* From two raw samples to what happened between them. Pure.
 *
 * Totals travel, rates are made here: of the node and of each VM pod that both
 * samples know. A figure that the two samples cannot give is NAN: a counter
 * that went back, a file that was not there, another boot. Rates are clamped to
 * what is possible: PSI totals overshoot the elapsed time by a percent at
 * times. Idle and iowait, which do go back on real kernels, are not used.
 *
 * Contention is waiting for CPU that no limit of the VM's own explains:
 *
 *     max(0, some - min(full, throttled rate))
 *
 * A throttled cgroup counts as stalled, wholly so (full), as long as its quota
 * lasts; a crowded one still has some task running. Taking the smaller of the
 * two removes what a limit explains and leaves a VM alone that is fully stalled
 * without one. Kernels before 5.13 print no full for cpu: there the throttled
 * rate stands alone, because full is never above some and a VM that its limit
 * holds back must not make its node look busy; the error is to miss contention
 * of VMs that are throttled as well. A cpu.stat without throttling lines has no
 * cpu controller, so nothing can hold it back: 0. */
#pragma once

#include "proto/load.h"
#include "proto/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All shares of time are 0 to 1. */
struct node_rates {
	double used_cores; /* user, nice, system, irq, softirq; guests inside */
	double cpu_some;
	double memory_some, memory_full;
	double io_some, io_full;
	/* Mean over the VM pods weighted by cores used. Where no pod's is
	 * known: the node's own cpu some if more than 70 % of it is used, as
	 * some alone rises with throttling too. */
	double contention;
};

struct vm_rates {
	double used_cores;
	double contention;
};

/* Microseconds from one to the other; 0 if rates between them mean nothing:
 * another boot, or not later. */
uint64_t rates_span_us(const struct report *before, const struct report *after);

/* All NAN where rates_span_us() is 0. vms may be NULL; else it has room for
 * after->vm_count and gets the rates in that order. */
void rates_between(struct node_rates *out, struct vm_rates *vms,
	const struct report *before, const struct report *after);

/* The same where rates_span_us() is known already. */
void rates_over(struct node_rates *out, struct vm_rates *vms,
	const struct report *before, const struct report *after,
	uint64_t span_us);

/* Where a search goes on, and how much it has cost; zeroed is the start. */
struct vm_cursor {
	size_t at, steps;
};

/* What all searches of one cursor may cost. 256 pods that are all new are well
 * below; without a bound a report of 2,048 would take the loop 80 ms. */
enum { RATES_STEPS_FREE = 1 << 16, RATES_STEPS_PER_VM = 64 };

/* The pod of the same uid and cgroup in a report; NULL if it is not there or
 * the search costs too much. Pods keep their order, mostly, so each is looked
 * for where the last one was found. */
const struct vm_pod *rates_find_vm(const struct report *report,
	const struct vm_pod *vm, struct vm_cursor *cursor);

/* What a VM holds: page cache comes and goes and hugetlb is in no memory.*
 * figure, so anonymous + shared + huge pages is the steady measure. NAN: this
 * report does not say. */
double rates_held_bytes(const struct vm_pod *vm);

/* Writes the figures of one sample and its last interval into load: no windows,
 * no VMs, and the working set only where this very report has it. */
void rates_fill_load(struct node_load *load, const struct report *report,
	const struct node_rates *rates);
