/* A segment file of the spool: a damaged disk may return any bytes. */
#include "agent/segment.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A segment that was read is written with the same bytes. */
static void check_header(const uint8_t *data, size_t size)
{
	struct buffer again = BUFFER_MAX(SEGMENT_HEADER_BYTES);
	uint8_t run_id[REPORT_RUN_ID_BYTES];

	if (segment_get_header(run_id, data, size)) {
		segment_put_header(&again, run_id);
		if (memcmp(again.data, data, 28) != 0) {
			abort();
		}
	}
	buffer_fini(&again);
}

static size_t check_record(const uint8_t *data, size_t size)
{
	struct buffer again =
		BUFFER_MAX(SEGMENT_RECORD_BYTES + SEGMENT_BODY_MAX);
	struct segment_record record;
	size_t len = 0;

	if (segment_get_record(&record, data, size)) {
		len = SEGMENT_RECORD_BYTES + record.len;
		segment_put_record(&again, record.seq, record.body, record.len);
		if (len > size || again.len != len ||
			memcmp(again.data, data, len) != 0) {
			abort();
		}
	}
	buffer_fini(&again);
	return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t at = SEGMENT_HEADER_BYTES;
	size_t len = 1;

	check_header(data, size);
	(void)check_record(data, size);
	while (at < size && len > 0) {
		len = check_record(data + at, size - at);
		at += len;
	}
	return 0;
}
