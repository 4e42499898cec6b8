/* The parameters of a history query, from any client. Input lines are from, to,
 * step and fields; a line "-" means unset. */
#include "aggregator/query/history_query.h"

#include "lib/memory.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint64_t day_us = UINT64_C(86400000000);
	struct history_query_context about = { .is_vm = size % 2 == 1,
		.now_us = UINT64_C(1795226696563199),
		.interval_us = 2000000,
		.retention_us = { day_us, 30 * day_us, 400 * day_us } };
	scoped_free char *text = xstrndup((const char *)data, size);
	const char *lines[4] = { NULL };
	struct history_query query;
	char *at = text;

	for (size_t i = 0; i < count_of(lines) && at != NULL; i++) {
		const char *line = strsep(&at, "\n");

		lines[i] = strcmp(line, "-") == 0 ? NULL : line;
	}
	if (history_query_parse(&query,
		    &(struct history_query_params){ lines[0], lines[1],
			    lines[2], lines[3] },
		    &about, NULL) == 0) {
		size_t rows = history_query_row_count(&query);

		assert(rows >= 1 && rows <= HISTORY_QUERY_ROWS_MAX);
		assert(query.field_count >= 1);
		assert(query.from_us + rows * query.step_us >= query.to_us);
	}
	return 0;
}
