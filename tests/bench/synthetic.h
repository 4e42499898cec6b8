/* Reports of a synthetic node: sixty-four cores, half a TiB, hours of uptime,
 * noise in every counter. The same seed gives the same reports. */
#pragma once

#include "proto/report.h"

#include <stddef.h>
#include <stdint.h>

struct synthetic {
	uint64_t random; /* the state of the generator; not 0 */
	uint64_t interval_s;
	uint64_t begin_ms; /* wall clock of the first report */
	size_t vms;
};

uint64_t synthetic_below(struct synthetic *m, uint64_t most);

/* The first report. The caller calls report_fini(). */
void synthetic_start(struct synthetic *m, struct report *r);

/* The report of the next interval. */
void synthetic_step(struct synthetic *m, struct report *r);
