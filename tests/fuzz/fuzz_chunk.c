/* Chunks and rollups from a disk that may return anything. The input gets a
 * correct checksum, so that it reaches the decoders. */
#include "aggregator/codec/chunk.h"
#include "aggregator/codec/column.h"
#include "aggregator/codec/rollup_pack.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A wanted field has the same value as in the whole report. */
static void compare(struct schema_fields fields, const void *is,
	const void *all, unsigned int parts)
{
	for (size_t f = 0; f < fields.count; f++) {
		const struct schema_field *field = &fields.list[f];

		if ((field->part == 0 || (field->part & parts) != 0) &&
			schema_field_get(field, is, 0) !=
				schema_field_get(field, all, 0)) {
			abort();
		}
	}
}

static void compare_reports(const struct report *is, const struct report *all,
	unsigned int parts)
{
	compare(schema_report, is, all, parts);
	if ((parts & SCHEMA_PODS) == 0) {
		return;
	}
	if (is->vm_count != all->vm_count) {
		abort();
	}
	for (size_t v = 0; v < is->vm_count; v++) {
		compare(schema_vm, &is->vms[v], &all->vms[v], parts);
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
	const struct chunk_selection want_all = { SCHEMA_ALL, pod_uid };
	const struct chunk_selection want = { parts, pod_uid };
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
		return;
	}
}

static void read_version(uint8_t version, const uint8_t *data, size_t size)
{
	static const unsigned int parts[] = { 0, SCHEMA_RATES,
		SCHEMA_CPU | SCHEMA_POD_MEMORY, SCHEMA_REST | SCHEMA_PRESSURE };
	scoped_buffer struct buffer body = BUFFER_MAX(size);
	scoped_buffer struct buffer sealed =
		BUFFER_MAX(size + COLUMN_SEAL_BYTES);
	uint8_t *bytes;

	buffer_append(&body, data, size);
	column_seal(&sealed, version, &body);
	/* An exact copy, so that a sanitizer finds reads past the end. */
	bytes = xmemdup(sealed.data, sealed.len);
	for (size_t i = 0; i < count_of(parts); i++) {
		read_chunk(bytes, sealed.len, NULL, parts[i]);
		read_chunk(bytes, sealed.len, "pod-1", parts[i]);
	}
	read_rollup(bytes, sealed.len, "");
	read_rollup(bytes, sealed.len, "pod-1");
	read_rollup(bytes, sealed.len, NULL);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (unsigned version = 1; version <= CHUNK_VERSION; version++) {
		read_version((uint8_t)version, data, size);
	}
	return 0;
}
