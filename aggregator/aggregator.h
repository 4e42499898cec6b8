/* The daemon: opens everything, in order, and closes it again. */
#pragma once

#include "aggregator/config.h"

/* Runs until it is told to stop. Returns the exit status: 0, or 1 if it could
 * not start, or not end in time. */
int aggregator_run(const struct config *config);
