/* `plimsoll-simulate`: compares policies over a scenario, as a table,
 * JSON, placements and a picture. */
#pragma once

#include "lib/program.h"

extern const struct program simulate_program;
