/* The log line that says on which addresses the aggregator listens. */
#pragma once

#include "aggregator/config.h"

#include <stdint.h>

struct listening_ports {
	uint16_t listen, http, health; /* as bound */
};

void listening_log(const struct aggregator_config *config,
	const struct listening_ports *ports);
