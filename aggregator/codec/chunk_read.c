#include "aggregator/codec/chunk.h"

#include "aggregator/codec/chunk_private.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A stream of columns. */
struct stream {
	struct column_bytes in;
	struct column_presence presence;
	struct columns_selection selection;
};

static bool get_number(size_t *out, struct column_bytes *in, size_t most)
{
	uint64_t value;

	if (!column_get_varint(&value, in) || value > most) {
		return false;
	}
	*out = (size_t)value;
	return true;
}

static bool get_text(char out[REPORT_UID_MAX], struct column_bytes *in)
{
	const uint8_t *text;
	size_t len;

	if (!get_number(&len, in, REPORT_UID_MAX - 1)) {
		return false;
	}
	text = column_get_bytes(in, len);
	if (text == NULL) {
		return false;
	}
	memcpy(out, text, len);
	out[len] = '\0';
	return true;
}

static bool get_part(struct column_bytes *part, struct column_bytes *in)
{
	size_t len;

	if (!get_number(&len, in, CHUNK_BYTES_MAX)) {
		return false;
	}
	part->at = column_get_bytes(in, len);
	part->end = in->at;
	return part->at != NULL;
}

static bool get_columns(uint64_t *values, size_t columns, struct stream *stream)
{
	size_t rows = stream->selection.rows;
	bool is_good = true;

	for (size_t c = 0; is_good && c < columns; c++) {
		is_good = column_read(values + c * rows, rows,
			&stream->presence, &stream->in);
	}
	return is_good;
}

/* Reads columns that are wanted with a part, or skips them. */
static bool get_elements(uint64_t **values, size_t columns, unsigned int part,
	struct stream *stream)
{
	bool is_good = true;

	if ((stream->selection.parts & part) != 0) {
		*values = xcalloc(columns * stream->selection.rows,
			sizeof(**values));
		return get_columns(*values, columns, stream);
	}
	for (size_t c = 0; is_good && c < columns; c++) {
		is_good = column_skip(stream->selection.rows, &stream->presence,
			&stream->in);
	}
	return is_good;
}

static bool all_below(const uint64_t *values, size_t count, size_t most)
{
	for (size_t i = 0; i < count; i++) {
		if (values[i] >= most) {
			return false;
		}
	}
	return true;
}

static bool get_node_lists(struct chunk *chunk, struct column_bytes *in)
{
	const uint8_t *runs;

	if (!get_number(&chunk->run_count, in, chunk->count)) {
		return false;
	}
	runs = column_get_bytes(in, chunk->run_count * REPORT_RUN_ID_BYTES);
	if (runs == NULL) {
		return false;
	}
	chunk->runs = xmemdup(runs, chunk->run_count * REPORT_RUN_ID_BYTES);
	if (!get_number(&chunk->boot_count, in, chunk->count)) {
		return false;
	}
	chunk->boots = xcalloc(chunk->boot_count, sizeof(*chunk->boots));
	for (size_t i = 0; i < chunk->boot_count; i++) {
		if (!get_text(chunk->boots[i], in)) {
			return false;
		}
	}
	return get_number(&chunk->sizes, in, REPORT_HUGEPAGE_SIZES) &&
		get_number(&chunk->numa, in, REPORT_NUMA_HUGEPAGES);
}

static const uint64_t *find_monotonic(const struct columns *columns)
{
	for (size_t i = 0; i < columns->count; i++) {
		if (columns->list[i].field->offset ==
			offsetof(struct report, monotonic_us)) {
			return columns->list[i].values;
		}
	}
	return NULL;
}

static bool get_node_columns(struct chunk *chunk, struct schema_fields fields,
	struct stream *stream)
{
	const size_t elements = chunk->sizes * schema_hugepages.count +
		chunk->numa * schema_numa.count;
	const size_t count = chunk->count;

	chunk->leading = xcalloc(LEADING * count, sizeof(*chunk->leading));
	report_init(&chunk->pattern);
	if (!get_columns(chunk->leading, LEADING, stream) ||
		!columns_read(&chunk->columns, &chunk->pattern, fields,
			&stream->selection, &stream->presence, &stream->in) ||
		!get_elements(&chunk->elements, elements, SCHEMA_REST,
			stream)) {
		return false;
	}
	chunk->monotonic_us = find_monotonic(&chunk->columns);
	return stream->in.at == stream->in.end &&
		all_below(chunk->leading + RUN * count, count,
			chunk->run_count) &&
		all_below(chunk->leading + BOOT * count, count,
			chunk->boot_count);
}

static bool get_node(struct chunk *chunk, struct schema_fields fields,
	unsigned int parts, struct column_bytes *in)
{
	struct stream stream = { .selection = { .parts = parts } };
	bool is_good;

	if (!get_number(&chunk->count, in, CHUNK_REPORTS_MAX) ||
		chunk->count == 0 || !get_node_lists(chunk, in) ||
		!get_part(&stream.in, in)) {
		return false;
	}
	stream.selection.rows = chunk->count;
	is_good = get_node_columns(chunk, fields, &stream);
	column_presence_fini(&stream.presence);
	return is_good;
}

static bool get_pod_headers(struct chunk *chunk, size_t *cells,
	const char *pod_uid, struct column_bytes *in)
{
	/* Each header takes five bytes or more. */
	if (!get_number(&chunk->pod_count, in, CHUNK_CELLS_MAX) ||
		chunk->pod_count > (size_t)(in->end - in->at) / 5) {
		return false;
	}
	chunk->pods = xcalloc(chunk->pod_count, sizeof(*chunk->pods));
	for (size_t i = 0; i < chunk->pod_count; i++) {
		struct chunk_pod *pod = &chunk->pods[i];

		if (!get_text(pod->uid, in) ||
			!column_get_varint(&pod->inode, in) ||
			!get_number(&pod->count, in, chunk->count) ||
			!get_number(&pod->sizes, in, REPORT_HUGEPAGE_SIZES) ||
			!get_number(&pod->bytes, in, CHUNK_BYTES_MAX)) {
			return false;
		}
		pod->is_wanted =
			pod_uid == NULL || strcmp(pod_uid, pod->uid) == 0;
		*cells += pod->count;
	}
	return *cells <= CHUNK_CELLS_MAX;
}

static bool get_list(struct chunk *chunk, struct pod_list *list,
	struct column_bytes *in)
{
	/* A list is written once for all reports that have it. */
	if (!get_number(&list->count, in,
		    CHUNK_CELLS_MAX - chunk->pod_number_count)) {
		return false;
	}
	list->begin = chunk->pod_number_count;
	for (size_t i = 0; i < list->count; i++) {
		size_t number;

		if (!get_number(&number, in, SIZE_MAX) ||
			number >= chunk->pod_count) {
			return false;
		}
		chunk->pod_numbers = xgrow(chunk->pod_numbers,
			chunk->pod_number_count, &chunk->pod_number_capacity,
			sizeof(*chunk->pod_numbers));
		chunk->pod_numbers[chunk->pod_number_count] = (uint32_t)number;
		chunk->pod_number_count++;
	}
	return true;
}

/* Lists the wanted pods of report number i as cells. */
static bool assign_cells(struct chunk *chunk, size_t i,
	const struct pod_list *list, size_t *at)
{
	chunk->begins[i] = *at;
	for (size_t v = 0; v < list->count; v++) {
		uint32_t number = chunk->pod_numbers[list->begin + v];
		struct chunk_pod *pod = &chunk->pods[number];

		if (pod->used == pod->count) {
			return false;
		}
		if (pod->is_wanted) {
			chunk->cells[*at] =
				(struct cell){ number, (uint32_t)pod->used };
			(*at)++;
		}
		pod->used++;
	}
	return true;
}

/* The number of each report's list. */
static bool get_list_column(uint64_t *lists, const struct chunk *chunk,
	struct column_bytes *in)
{
	struct column_presence presence = { 0 };
	struct column_bytes part;
	bool is_good = get_part(&part, in) &&
		column_read(lists, chunk->count, &presence, &part) &&
		part.at == part.end;

	column_presence_fini(&presence);
	return is_good && all_below(lists, chunk->count, chunk->list_count);
}

static bool get_lists(struct chunk *chunk, struct column_bytes *in)
{
	scoped_free uint64_t *lists = xcalloc(chunk->count, sizeof(*lists));
	size_t at = 0;

	if (!get_number(&chunk->list_count, in, chunk->count)) {
		return false;
	}
	chunk->lists = xcalloc(chunk->list_count, sizeof(*chunk->lists));
	for (size_t i = 0; i < chunk->list_count; i++) {
		if (!get_list(chunk, &chunk->lists[i], in)) {
			return false;
		}
	}
	if (!get_list_column(lists, chunk, in)) {
		return false;
	}
	for (size_t i = 0; i < chunk->count; i++) {
		if (!assign_cells(chunk, i, &chunk->lists[lists[i]], &at)) {
			return false;
		}
	}
	chunk->begins[chunk->count] = at;
	return true;
}

static bool get_pod(struct chunk_pod *pod, unsigned int parts,
	const struct column_bytes *in)
{
	struct stream stream = { .in = *in,
		.selection = { .parts = parts, .rows = pod->count } };
	bool is_good;

	vm_pod_init(&pod->pattern);
	memcpy(pod->pattern.pod_uid, pod->uid, sizeof(pod->uid));
	pod->pattern.cgroup_inode = pod->inode;
	is_good = columns_read(&pod->columns, &pod->pattern, schema_vm,
			  &stream.selection, &stream.presence, &stream.in) &&
		get_elements(&pod->hugetlb, pod->sizes * schema_hugetlb.count,
			SCHEMA_POD_MEMORY, &stream) &&
		stream.in.at == stream.in.end;
	column_presence_fini(&stream.presence);
	return is_good;
}

static bool get_pods(struct chunk *chunk,
	const struct chunk_selection *selection, struct column_bytes *in)
{
	size_t cells = 0;

	if (!get_pod_headers(chunk, &cells, selection->pod_uid, in)) {
		return false;
	}
	chunk->cells = xcalloc(cells, sizeof(*chunk->cells));
	chunk->begins = xcalloc(chunk->count + 1, sizeof(*chunk->begins));
	if (!get_lists(chunk, in)) {
		return false;
	}
	for (size_t i = 0; i < chunk->pod_count; i++) {
		struct chunk_pod *pod = &chunk->pods[i];
		struct column_bytes part = { .at = column_get_bytes(in,
						     pod->bytes) };

		part.end = in->at;
		if (part.at == NULL ||
			(pod->is_wanted &&
				!get_pod(pod, selection->parts, &part))) {
			return false;
		}
	}
	return in->at == in->end;
}

/* The version to expect; one that is not known is refused as damaged. */
static uint8_t version_of(const void *bytes, size_t len)
{
	uint8_t version = len > 0 ? *(const uint8_t *)bytes : 0;

	return version > 0 && version < CHUNK_VERSION ? version : CHUNK_VERSION;
}

/* The node's columns in a chunk of that version: each added one. */
static struct schema_fields node_fields(uint8_t version)
{
	struct schema_fields fields = schema_report;

	fields.count -= CHUNK_VERSION - version;
	return fields;
}

int chunk_open(struct chunk **out, const void *bytes, size_t len,
	const struct chunk_selection *selection, struct error *err)
{
	uint8_t version = version_of(bytes, len);
	struct column_bytes in;
	struct chunk *chunk;
	int r = column_unseal(&in, bytes, len, version, err);

	if (r < 0) {
		return r;
	}
	chunk = xcalloc(1, sizeof(*chunk));
	if (!get_node(chunk, node_fields(version), selection->parts, &in) ||
		((selection->parts & SCHEMA_PODS) != 0 &&
			!get_pods(chunk, selection, &in))) {
		chunk_close(chunk);
		return error_set(err, -EBADMSG, "cannot read the chunk");
	}
	*out = chunk;
	return 0;
}

void chunk_close(struct chunk *chunk)
{
	if (chunk == NULL) {
		return;
	}
	for (size_t i = 0; chunk->pods != NULL && i < chunk->pod_count; i++) {
		columns_fini(&chunk->pods[i].columns);
		free(chunk->pods[i].hugetlb);
	}
	columns_fini(&chunk->columns);
	free(chunk->runs);
	free(chunk->boots);
	free(chunk->leading);
	free(chunk->elements);
	free(chunk->pods);
	free(chunk->lists);
	free(chunk->pod_numbers);
	free(chunk->cells);
	free(chunk->begins);
	free(chunk);
}

static size_t pods_bytes(const struct chunk *chunk)
{
	size_t bytes = (chunk->count + 1) * sizeof(*chunk->begins) +
		chunk->list_count * sizeof(*chunk->lists) +
		chunk->pod_number_capacity * sizeof(*chunk->pod_numbers);

	for (size_t i = 0; i < chunk->pod_count; i++) {
		const struct chunk_pod *pod = &chunk->pods[i];
		size_t hugetlb = pod->hugetlb == NULL
			? 0
			: pod->sizes * schema_hugetlb.count * sizeof(uint64_t);

		bytes += sizeof(*pod) + pod->columns.bytes +
			pod->count * (sizeof(struct cell) + hugetlb);
	}
	return bytes;
}

size_t chunk_bytes(const struct chunk *chunk)
{
	const size_t elements = chunk->elements == NULL
		? 0
		: chunk->sizes * schema_hugepages.count +
			chunk->numa * schema_numa.count;

	return sizeof(*chunk) + chunk->run_count * sizeof(*chunk->runs) +
		chunk->boot_count * sizeof(*chunk->boots) +
		chunk->count * (LEADING + elements) * sizeof(uint64_t) +
		chunk->columns.bytes +
		(chunk->pods == NULL ? 0 : pods_bytes(chunk));
}
