/* A made-up node's reports: a machine of sixty-four cores and half a TiB after
 * hours of uptime, with noise in every counter, the same for the same seed. */
#pragma once

#include "proto/report.h"

#include <stddef.h>
#include <stdint.h>

struct made_up {
	uint64_t random; /* the state of the generator; not 0 */
	uint64_t interval_s;
	uint64_t begin_ms; /* by the wall, when the reports begin */
	size_t vms;
};

uint64_t made_up_below(struct made_up *m, uint64_t most);

/* The first report, before any step; report_fini() when it is done with. */
void made_up_start(struct made_up *m, struct report *r);

/* An interval later. */
void made_up_step(struct made_up *m, struct report *r);
