/* An engine's answer to a range query, or what a proxy answers for it: any
 * bytes. No value is read twice the size of the text, none outside of the grid,
 * and an error is one line. */
#include "aggregator/remote_read/range_answer.h"

#include "lib/memory.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS = 5, FIELDS = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The body of a response ends with a NUL. */
	scoped_free char *text = xcalloc(size + 1, 1);
	scoped_free double *values =
		xcalloc((size_t)ROWS * FIELDS, sizeof(*values));
	const struct range_answer_grid grid = { .from_us = 1700000000000000,
		.step_us = 60000000,
		.rows = ROWS,
		.fields = FIELDS,
		.label = "plimsoll_field",
		.values = values };
	struct error error = { 0 };
	char why[64];
	size_t found = 0;
	int r;

	if (size > 0) {
		memcpy(text, data, size);
	}
	r = range_answer_read(&found, &grid, text, size, &error);
	assert(r == 0 || r == -EBADMSG || r == -EPROTO);
	assert(found <= 2 * size);
	for (size_t i = 0; i < (size_t)ROWS * FIELDS; i++) {
		assert(isfinite(values[i]));
	}
	answer_error(why, sizeof(why), text, size);
	assert(strpbrk(why, "\r\n\t") == NULL);
	return 0;
}
