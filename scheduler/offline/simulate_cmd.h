/* `plimsoll-scheduler simulate --scenario FILE --policy NAME`: what policies
 * would have made of a day, as a table, JSON, placements and a picture. */
#pragma once

#include "lib/error.h"
#include "scheduler/config.h"

#include <stdio.h>

/* Prints to out; progress goes to standard error if that is a terminal.
 * -EINVAL, -EBADMSG, -ERANGE, -E2BIG or what files said: one sentence. */
must_check int simulate_command(const struct simulate_config *config, FILE *out,
	struct error *err);
