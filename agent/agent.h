/* The daemon: a report each interval, through the ring to every aggregator. */
#pragma once

#include "agent/config.h"
#include "lib/error.h"

/* Runs until SIGTERM or SIGINT, then takes at most two seconds to get out what
 * was not sent yet. -ENOENT, -EACCES, -ENOTDIR: a root is not there to read;
 * -EINVAL: an aggregator's address. */
must_check int agent_run(const struct agent_config *config, struct error *err);
