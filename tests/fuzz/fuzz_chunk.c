/* Chunks and rollups: what a disk gives back may be anything. The checksum is
 * put right, so that what lies behind it is reached. */
#include "aggregator/codec/chunk.h"
#include "aggregator/series/rollup.h"
#include "lib/crc.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD_BYTES = 5 };

/* What is wanted is what all of the report has of it. */
static void compare(struct fields fields, const void *is, const void *all,
	unsigned int parts)
{
	for (size_t f = 0; f < fields.count; f++) {
		const struct field *field = &fields.list[f];

		if ((field->part == 0 || (field->part & parts) != 0) &&
			field_get(field, is, 0) != field_get(field, all, 0)) {
			abort();
		}
	}
}

static void compare_reports(const struct report *is, const struct report *all,
	unsigned int parts)
{
	compare(fields_report, is, all, parts);
	if ((parts & FIELDS_PODS) == 0) {
		return;
	}
	if (is->vm_count != all->vm_count) {
		abort();
	}
	for (size_t v = 0; v < is->vm_count; v++) {
		compare(fields_vm, &is->vms[v], &all->vms[v], parts);
	}
}

/* A report that can be read whole can be read in part. */
static void get_report(const struct chunk *chunk, const struct chunk *some,
	size_t at, unsigned int parts)
{
	struct chunk_report got, part;

	if (chunk_get(&got, chunk, at, NULL) < 0) {
		return;
	}
	if (got.sample_ms != chunk_sample_ms(chunk, at) ||
		chunk_get(&part, some, at, NULL) < 0 ||
		part.sample_ms != got.sample_ms) {
		abort();
	}
	compare_reports(&part.report, &got.report, parts);
	report_fini(&got.report);
	report_fini(&part.report);
}

static void read_chunk(const uint8_t *bytes, size_t len, const char *pod_uid,
	unsigned int parts)
{
	const struct chunk_want want_all = { FIELDS_ALL, pod_uid };
	const struct chunk_want want = { parts, pod_uid };
	struct chunk *chunk, *some;
	int r = chunk_open(&some, bytes, len, &want, NULL);

	if (chunk_open(&chunk, bytes, len, &want_all, NULL) < 0) {
		if (r == 0) {
			chunk_close(some);
		}
		return;
	}
	if (r < 0 || chunk_count(some) != chunk_count(chunk)) {
		abort();
	}
	for (size_t i = 0; i < chunk_count(chunk); i++) {
		get_report(chunk, some, i, parts);
	}
	chunk_close(chunk);
	chunk_close(some);
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
	static const unsigned int parts[] = { 0, FIELDS_RATES,
		FIELDS_CPU | FIELDS_POD_MEMORY, FIELDS_REST | FIELDS_PRESSURE };
	uint8_t *bytes = xcalloc(size + HEAD_BYTES, 1);
	uint32_t crc = crc_add(0, data, size);

	bytes[0] = CHUNK_VERSION;
	for (int i = 0; i < 4; i++) {
		bytes[1 + i] = (uint8_t)(crc >> (8 * i));
	}
	if (size > 0) {
		memcpy(bytes + HEAD_BYTES, data, size);
	}
	for (size_t i = 0; i < count_of(parts); i++) {
		read_chunk(bytes, size + HEAD_BYTES, NULL, parts[i]);
		read_chunk(bytes, size + HEAD_BYTES, "pod-1", parts[i]);
	}
	read_rollup(bytes, size + HEAD_BYTES, "");
	read_rollup(bytes, size + HEAD_BYTES, "pod-1");
	read_rollup(bytes, size + HEAD_BYTES, NULL);
	free(bytes);
	return 0;
}
