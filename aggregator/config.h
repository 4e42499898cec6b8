/* The aggregator's options. */
#pragma once

#include "lib/options.h"

#include <stdint.h>

struct config {
	const char *listen, *http, *health;
	const char *db;
	uint64_t retention_raw_us;
	int log_format, log_level;
};

extern const struct options_program aggregator_program;
