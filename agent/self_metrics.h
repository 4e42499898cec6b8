/* What this process itself costs. */
#pragma once

#include "agent/kernel_file.h"
#include "proto/report.h"

struct own {
	struct kept_file
		statm; /* /proc/self/statm; ours, whatever --proc-root */
};

void own_init(struct own *own);
void own_fini(struct own *own); /* NULL and zeroed are fine */

/* Fills in the CPU time and the resident memory; what cannot be read stays as
 * it was. */
void own_read(struct own_cost *out, struct own *own);
