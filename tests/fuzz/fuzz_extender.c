/* Requests to the extender: the first byte selects the verb. */
#include "scheduler/extender.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
	struct extender_view view = { .is_synced = true, .now_us = 1 };
	enum extender_outcome outcome;
	struct cache cache;
	struct error err;
	int r;

	if (size == 0) {
		return 0;
	}
	cache_init(&cache);
	view.cache = &cache;
	r = extender_answer(&out, &outcome, &view,
		&(struct extender_request){ data[0] % 2 == 0
				? EXTENDER_FILTER
				: EXTENDER_PRIORITIZE,
			(const char *)data + 1, size - 1 },
		&err);
	(void)r;
	cache_fini(&cache);
	return 0;
}
