/* `plimsoll-agent --once`: prints one report as JSON on standard output. */
#pragma once

#include "agent/config.h"
#include "lib/error.h"

/* Waits for one KVM probe, at most for its timeout, then prints the report and
 * returns. A signal ends the wait without a report.
 * -ENOENT, -EACCES, -ENOTDIR: a root does not exist or cannot be read. -EIO: no
 * report was printed. */
must_check int once_run(const struct agent_config *config, struct error *err);
