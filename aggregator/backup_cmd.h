/* `plimsoll-aggregator backup`: a copy of the database at one moment. */
#pragma once

#include "lib/program.h"

extern const struct program backup_program;
