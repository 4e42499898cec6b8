/* Rates between two reports, of the node and of each VM pod in both. Pure.
 *
 * Agents send totals. A rate that the two reports cannot give is NAN: a counter
 * went back, a file was missing, or the node rebooted. Rates are clamped to the
 * possible range, because PSI totals sometimes exceed the elapsed time by a
 * percent. Idle and iowait are not used: they go back on real kernels.
 *
 * Contention is the share of time that a VM waits for CPU without being held
 * back by its own limit:
 *
 *     max(0, some - min(full, throttled rate))
 *
 * While its quota is used up, a throttled cgroup counts as fully stalled
 * (full); in a crowded cgroup, some task still runs. The smaller of the two
 * removes the waiting that a limit explains, and keeps that of a VM that is
 * fully stalled without a limit. Kernels before 5.13 have no full for cpu.
 * Without it the throttled rate is used alone: full is never above some, and a
 * VM that its limit holds back must not make its node look busy. The error is
 * that contention of throttled VMs is missed. A cgroup whose cpu.stat has no
 * throttling lines has no cpu controller, so its throttled rate is 0.
 *
 * A node's contention is the mean of its VMs', weighted by their use. If that
 * of no VM is known, it is the node's own pressure while more than 70 % of the
 * CPUs are used. It is 0 on a node without VM pods and with less than 5 % of
 * pressure, and otherwise not known: throttling raises pressure, too. */
#pragma once

#include "proto/load.h"
#include "proto/report.h"

/* X(resource, line): the line of the resource's pressure as a rate. */
#define NODE_PRESSURES(X)                                                      \
	X(cpu, some)                                                           \
	X(memory, some)                                                        \
	X(memory, full)                                                        \
	X(io, some)                                                            \
	X(io, full)

/* All shares of time are 0 to 1. The names are those of proto/load_fields.h. */
struct node_rates {
	double used_cores; /* user, nice, system, irq, softirq; with guests */
#define X(resource, line) double resource##_pressure_##line;
	NODE_PRESSURES(X)
#undef X
	double swap_in_bytes; /* a second */
	double contention;    /* see above */
};

struct vm_rates {
	double used_cores;
	double contention;
};

/* Every rate is unknown. */
extern const struct node_rates rates_unknown;
extern const struct vm_rates rates_vm_unknown;

/* Microseconds between the reports; 0 if there are no rates between them:
 * another boot, or `after` is not later. */
uint64_t rates_span_us(const struct report *before, const struct report *after);

/* True: there are rates between reports of two processes. They count the same
 * kernel's totals if they are of one boot; a boot without an id is not known to
 * be one. Below half an interval the totals' resolution, 10 ms of CPU time,
 * would show. */
bool rates_cross_runs(const struct report *before, const struct report *after);

/* All rates are NAN if rates_span_us() is 0. vms gets the rates of after->vms,
 * in that order; it may be NULL. */
void rates_between(struct node_rates *out, struct vm_rates *vms,
	const struct report *before, const struct report *after);

/* The same with a span from rates_span_us(). */
void rates_over(struct node_rates *out, struct vm_rates *vms,
	const struct report *before, const struct report *after,
	uint64_t span_us);

/* The share of a span in which everything waited; NAN if it is not known. */
double rates_full_share(const struct psi *before, const struct psi *after,
	uint64_t span_us);

/* The start of the next search, and the cost so far; zeroed at first. */
struct vm_cursor {
	size_t at, steps;
};

/* The limit of the cost of all searches with a cursor. 256 new pods stay well
 * below; without a limit, a report of 2,048 pods would block the event loop for
 * 80 ms. */
enum { RATES_STEPS_FREE = 1 << 16, RATES_STEPS_PER_VM = 64 };

/* The pod with the same uid and cgroup in a report; NULL if there is none, or
 * at the limit. Pods mostly keep their order, so a search begins where the last
 * one ended. */
const struct vm_pod *rates_find_vm(const struct report *report,
	const struct vm_pod *vm, struct vm_cursor *cursor);

/* NAN if value is REPORT_UNKNOWN. */
double rates_known(uint64_t value);

/* The memory of a VM: anonymous, shared and huge pages. Page cache would vary,
 * and no memory.* figure contains hugetlb. NAN: the report does not have it. */
double rates_vm_memory_bytes(const struct vm_pod *vm);

/* Fills in the figures of a report and its rates, without windows and VMs. The
 * working set is NAN if this report does not have it. */
void rates_fill_load(struct node_load *load, const struct report *report,
	const struct node_rates *rates);
