/* `plimsoll-aggregator export`: the history of a cluster as JSON, from a
 * database that an aggregator may be using. */
#pragma once

#include "lib/program.h"

extern const struct program export_program;
