/* Requests to the agent's listener for probes: a probe is a complete GET. */
#include "agent/health.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	enum health_request request = health_read(text, size);

	if (request == HEALTH_REQUEST_PROBE &&
		(size < 15 || memcmp(text, "GET /", 5) != 0)) {
		abort();
	}
	/* More of a request never makes it incomplete. */
	for (size_t len = 0; len < size; len++) {
		if (health_read(text, len) != HEALTH_REQUEST_INCOMPLETE &&
			request == HEALTH_REQUEST_INCOMPLETE) {
			abort();
		}
	}
	return 0;
}
