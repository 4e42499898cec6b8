/* Times of the week, as in --rebalance-windows. */
#include "scheduler/rebalance/windows.h"

#include "lib/memory.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_free char *text = xstrndup((const char *)data, size);
	struct windows windows = { 0 };
	struct error err;

	if (windows_parse(&windows, text, &err) == 0) {
		uint64_t next = windows_next_us(&windows, 0);

		/* Whatever is accepted names at least a minute. */
		assert(next == 0 || windows_is_open(&windows, next));
		assert(next != 0 || windows_is_open(&windows, 0));
	}
	return 0;
}
