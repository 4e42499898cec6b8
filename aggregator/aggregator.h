/* The aggregator: opens all parts in order, runs, and closes them again. */
#pragma once

#include "lib/program.h"

extern const struct program aggregator_program;
