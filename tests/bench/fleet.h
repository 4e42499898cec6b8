/* A made-up fleet for benchmarks: the reports of node n at any time, with
 * counters that move as those of a busy node do. Pure, but for the time given:
 * who sends them to an aggregator and who shows them to a scraper have the same
 * values. */
#pragma once

#include "proto/report.h"

#include <stddef.h>
#include <stdint.h>

struct fleet {
	size_t nodes, vms; /* VMs a node */
	uint32_t interval_ms;
};

/* From start to at_us (of the sender's monotonic clock); busy_from_us: from
 * then on the node uses FLEET_STEP_CORES more; 0: never. The caller ends it by
 * report_fini(). */
#define FLEET_CORES 16.0
#define FLEET_STEP_CORES 12.0
void fleet_report(struct report *out, const struct fleet *fleet, size_t node,
	uint64_t seq, uint64_t at_us, uint64_t busy_from_us);

/* One value with its Prometheus name and labels, called for each value of a
 * report; labels is "" or `mode="user"`, pod "" for the node's own. */
typedef void (*fleet_value)(void *owner, const char *name, const char *labels,
	const char *pod, double value);
size_t fleet_values(const struct report *report, fleet_value each, void *owner);
