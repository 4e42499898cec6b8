/* The input of `score --in`: pods, nodes, loads, times and quantities. */
#include "scheduler/offline/score_cmd.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
	struct error err;
	int r = score_text(&out, (const char *)data, size, &err);

	(void)r;
	return 0;
}
