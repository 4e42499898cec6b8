/* A synthetic fleet for benchmarks: the report of node n at any time, with the
 * counters of a busy node. A report depends on its time alone, so the sender to
 * an aggregator and the server for a scraper have the same values. */
#pragma once

#include "proto/report.h"

#include <stddef.h>
#include <stdint.h>

struct fleet {
	size_t nodes, vms; /* VMs a node */
	uint32_t interval_ms;
	uint64_t
		life_s; /* of a VM, whose successor has a new pod; 0: endless */
};

/* The report at at_us on the sender's monotonic clock. From busy_from_us on the
 * node uses FLEET_STEP_CORES more; 0: never. The caller calls report_fini(). */
#define FLEET_CORES 16.0
#define FLEET_STEP_CORES 12.0
void fleet_report(struct report *out, const struct fleet *fleet, size_t node,
	uint64_t seq, uint64_t at_us, uint64_t busy_from_us);

/* Called for each value of a report, with its Prometheus name and labels;
 * labels is "" or `mode="user"`, pod is "" for values of the node. */
typedef void (*fleet_value)(void *owner, const char *name, const char *labels,
	const char *pod, double value);
size_t fleet_values(const struct report *report, fleet_value each, void *owner);
