/* The agent: makes a report each interval and delivers the reports to every
 * aggregator.
 *
 * It runs until SIGTERM or SIGINT, then tries for at most three seconds to
 * deliver the remaining reports. It fails at the start with -ENOENT, -EACCES or
 * -ENOTDIR if a root does not exist or cannot be read, and with -EINVAL if the
 * address of an aggregator is invalid. */
#pragma once

#include "lib/program.h"

extern const struct program agent_program;
