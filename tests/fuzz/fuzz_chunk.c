/* Chunks and rollups: what a disk gives back may be anything. The checksum is
 * put right, so that what lies behind it is reached. */
#include "aggregator/chunk.h"
#include "aggregator/rollup.h"
#include "lib/crc.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD_BYTES = 5 };

static void get_report(const struct chunk *chunk, size_t at)
{
	struct chunk_report got;

	if (chunk_get(&got, chunk, at, NULL) < 0) {
		return;
	}
	if (got.sample_ms != chunk_sample_ms(chunk, at)) {
		abort();
	}
	report_fini(&got.report);
}

static void read_chunk(const uint8_t *bytes, size_t len, const char *pod_uid)
{
	struct chunk *chunk;

	if (chunk_open(&chunk, bytes, len, pod_uid, NULL) < 0) {
		return;
	}
	for (size_t i = 0; i < chunk_count(chunk); i++) {
		get_report(chunk, i);
	}
	chunk_close(chunk);
}

static void check_rows(void *owner, const char *pod_uid,
	const struct rollup_row *rows, size_t count)
{
	(void)owner;
	(void)rows;
	if (count > ROLLUP_ROWS || strlen(pod_uid) >= REPORT_UID_MAX) {
		abort();
	}
}

static void read_rollup(const uint8_t *bytes, size_t len, const char *pod_uid)
{
	if (rollup_unpack(bytes, len, pod_uid, check_rows, NULL, NULL) < 0) {
		return; /* as most are */
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = xcalloc(size + HEAD_BYTES, 1);
	uint32_t crc = crc_add(0, data, size);

	bytes[0] = CHUNK_VERSION;
	for (int i = 0; i < 4; i++) {
		bytes[1 + i] = (uint8_t)(crc >> (8 * i));
	}
	if (size > 0) {
		memcpy(bytes + HEAD_BYTES, data, size);
	}
	read_chunk(bytes, size + HEAD_BYTES, NULL);
	read_chunk(bytes, size + HEAD_BYTES, "pod-1");
	read_rollup(bytes, size + HEAD_BYTES, "");
	read_rollup(bytes, size + HEAD_BYTES, "pod-1");
	read_rollup(bytes, size + HEAD_BYTES, NULL);
	free(bytes);
	return 0;
}
