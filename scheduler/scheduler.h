/* The scheduler daemon: opens its parts, runs, and closes them. */
#pragma once

#include "lib/program.h"

extern const struct program scheduler_program;
