/* `plimsoll-agent --once`: one report as JSON on standard output. */
#pragma once

#include "agent/config.h"
#include "lib/error.h"

/* Waits for one KVM probe, at most its timeout, then reports and returns. A
 * signal ends it without a report.
 * -ENOENT, -EACCES, -ENOTDIR: a root is not there to read; -EIO: standard
 * output takes no more; -EINTR. */
must_check int once_run(const struct agent_config *config, struct error *err);
