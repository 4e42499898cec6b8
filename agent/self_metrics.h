/* The resources that the agent's own process uses. */
#pragma once

#include "proto/report.h"

/* Not below --proc-root: the agent's own process. */
#define SELF_METRICS_STATM "/proc/self/statm"

/* Fills in CPU time, and resident memory from the file statm. A value that
 * cannot be read stays unchanged. */
void self_metrics_read(struct own_cost *out, const char *statm);
