/* Annotations plimsoll.io/expected-cores: an accepted one is within its bounds
 * at any time. */
#include "scheduler/forecast/announcement.h"

#include "lib/memory.h"
#include "scheduler/forecast/forecast.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_free char *text = xcalloc(size + 1, 1);
	const int64_t half_hour_us = INT64_C(1800) * 1000000;
	struct announcement announced;
	struct error err;

	if (size > 0) {
		memcpy(text, data, size);
	}
	if (announcement_parse(&announced, text, &err) < 0) {
		return 0;
	}
	if (announced.count == 0 || announced.count > ANNOUNCEMENT_SPANS_MAX) {
		abort();
	}
	for (int i = -50; i < 50; i++) {
		double cores = announcement_cores(&announced, i * half_hour_us);

		if (!(cores >= 0 && cores <= FORECAST_VCPUS_MAX)) {
			abort();
		}
	}
	return 0;
}
