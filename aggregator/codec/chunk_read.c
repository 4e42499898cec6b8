#include "aggregator/codec/chunk.h"

#include "aggregator/codec/chunk_private.h"
#include "lib/crc.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Columns being read. */
struct stream {
	struct column_bytes in;
	struct column_presence presence;
	struct members_want want;
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
	part->end = in->at; /* what was taken ends where the rest begins */
	return part->at != NULL;
}

static bool get_columns(uint64_t *values, size_t columns, struct stream *stream)
{
	size_t rows = stream->want.rows;
	bool is_good = true;

	for (size_t c = 0; is_good && c < columns; c++) {
		is_good = column_read(values + c * rows, rows,
			&stream->presence, &stream->in);
	}
	return is_good;
}

/* Columns that are wanted with a part, or passed over. */
static bool get_elements(uint64_t **values, size_t columns, unsigned int part,
	struct stream *stream)
{
	bool is_good = true;

	if ((stream->want.parts & part) != 0) {
		*values =
			xcalloc(columns * stream->want.rows, sizeof(**values));
		return get_columns(*values, columns, stream);
	}
	for (size_t c = 0; is_good && c < columns; c++) {
		is_good = column_skip(stream->want.rows, &stream->presence,
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

static const uint64_t *find_monotonic(const struct members *members)
{
	for (size_t i = 0; i < members->count; i++) {
		if (members->list[i].field->offset ==
			offsetof(struct report, monotonic_us)) {
			return members->list[i].values;
		}
	}
	return NULL;
}

static bool get_node_columns(struct chunk *chunk, struct stream *stream)
{
	const size_t elements = chunk->sizes * fields_hugepages.count +
		chunk->numa * fields_numa.count;
	const size_t count = chunk->count;

	chunk->leading = xcalloc(LEADING * count, sizeof(*chunk->leading));
	report_init(&chunk->pattern);
	if (!get_columns(chunk->leading, LEADING, stream) ||
		!members_read(&chunk->members, &chunk->pattern, fields_report,
			&stream->want, &stream->presence, &stream->in) ||
		!get_elements(&chunk->elements, elements, FIELDS_REST,
			stream)) {
		return false;
	}
	chunk->monotonic_us = find_monotonic(&chunk->members);
	return stream->in.at == stream->in.end &&
		all_below(chunk->leading + RUN * count, count,
			chunk->run_count) &&
		all_below(chunk->leading + BOOT * count, count,
			chunk->boot_count);
}

static bool get_node(struct chunk *chunk, unsigned int parts,
	struct column_bytes *in)
{
	struct stream stream = { .want = { .parts = parts } };
	bool is_good;

	if (!get_number(&chunk->count, in, CHUNK_REPORTS_MAX) ||
		chunk->count == 0 || !get_node_lists(chunk, in) ||
		!get_part(&stream.in, in)) {
		return false;
	}
	stream.want.rows = chunk->count;
	is_good = get_node_columns(chunk, &stream);
	column_presence_fini(&stream.presence);
	return is_good;
}

static bool get_pod_heads(struct chunk *chunk, const char *pod_uid,
	struct column_bytes *in)
{
	size_t cells = 0;

	/* Each takes five bytes or more. */
	if (!get_number(&chunk->pod_count, in, (size_t)(in->end - in->at))) {
		return false;
	}
	chunk->pods = xcalloc(chunk->pod_count, sizeof(*chunk->pods));
	for (size_t i = 0; i < chunk->pod_count; i++) {
		struct pod *pod = &chunk->pods[i];

		if (!get_text(pod->uid, in) ||
			!column_get_varint(&pod->inode, in) ||
			!get_number(&pod->count, in, chunk->count) ||
			!get_number(&pod->sizes, in, REPORT_HUGEPAGE_SIZES) ||
			!get_number(&pod->bytes, in, CHUNK_BYTES_MAX)) {
			return false;
		}
		pod->is_wanted =
			pod_uid == NULL || strcmp(pod_uid, pod->uid) == 0;
		cells += pod->count;
	}
	return cells <= CHUNK_CELLS_MAX;
}

static bool get_list(struct chunk *chunk, struct list *list,
	struct column_bytes *in)
{
	if (!get_number(&list->count, in, (size_t)(in->end - in->at))) {
		return false;
	}
	list->begin = chunk->place_count;
	for (size_t i = 0; i < list->count; i++) {
		size_t place;

		if (!get_number(&place, in, SIZE_MAX) ||
			place >= chunk->pod_count) {
			return false;
		}
		chunk->places = xgrow(chunk->places, chunk->place_count,
			&chunk->place_capacity, sizeof(*chunk->places));
		chunk->places[chunk->place_count] = (uint32_t)place;
		chunk->place_count++;
	}
	return true;
}

/* Which pods report number i holds. */
static bool place_cells(struct chunk *chunk, size_t i, const struct list *list,
	size_t *at)
{
	chunk->begins[i] = *at;
	for (size_t v = 0; v < list->count; v++) {
		uint32_t place = chunk->places[list->begin + v];
		struct pod *pod = &chunk->pods[place];

		if (pod->used == pod->count) {
			return false;
		}
		if (pod->is_wanted) {
			chunk->cells[*at] =
				(struct cell){ place, (uint32_t)pod->used };
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
		if (!place_cells(chunk, i, &chunk->lists[lists[i]], &at)) {
			return false;
		}
	}
	chunk->begins[chunk->count] = at;
	return true;
}

static bool get_pod(struct pod *pod, unsigned int parts,
	const struct column_bytes *in)
{
	struct stream stream = { .in = *in,
		.want = { .parts = parts, .rows = pod->count } };
	bool is_good;

	vm_pod_init(&pod->pattern);
	memcpy(pod->pattern.pod_uid, pod->uid, sizeof(pod->uid));
	pod->pattern.cgroup_inode = pod->inode;
	is_good = members_read(&pod->members, &pod->pattern, fields_vm,
			  &stream.want, &stream.presence, &stream.in) &&
		get_elements(&pod->hugetlb, pod->sizes * fields_hugetlb.count,
			FIELDS_POD_MEMORY, &stream) &&
		stream.in.at == stream.in.end;
	column_presence_fini(&stream.presence);
	return is_good;
}

static bool get_pods(struct chunk *chunk, const struct chunk_want *want,
	struct column_bytes *in)
{
	size_t cells = 0;

	if (!get_pod_heads(chunk, want->pod_uid, in)) {
		return false;
	}
	for (size_t i = 0; i < chunk->pod_count; i++) {
		cells += chunk->pods[i].count;
	}
	chunk->cells = xcalloc(cells, sizeof(*chunk->cells));
	chunk->begins = xcalloc(chunk->count + 1, sizeof(*chunk->begins));
	if (!get_lists(chunk, in)) {
		return false;
	}
	for (size_t i = 0; i < chunk->pod_count; i++) {
		struct pod *pod = &chunk->pods[i];
		struct column_bytes part = { .at = column_get_bytes(in,
						     pod->bytes) };

		part.end = in->at;
		if (part.at == NULL ||
			(pod->is_wanted && !get_pod(pod, want->parts, &part))) {
			return false;
		}
	}
	return in->at == in->end;
}

int chunk_open(struct chunk **out, const void *bytes, size_t len,
	const struct chunk_want *want, struct error *err)
{
	const uint8_t *at = bytes;
	struct column_bytes in;
	struct chunk *chunk;
	uint32_t crc = 0;

	if (len < 5 || at[0] != CHUNK_VERSION) {
		return error_set(err, -EBADMSG,
			"a chunk begins with no version that is known");
	}
	for (int i = 0; i < 4; i++) {
		crc |= (uint32_t)at[1 + i] << (8 * i);
	}
	in = (struct column_bytes){ at + 5, at + len };
	if (crc != crc_add(0, in.at, len - 5)) {
		return error_set(err, -EBADMSG, "a chunk's checksum is wrong");
	}
	chunk = xcalloc(1, sizeof(*chunk));
	if (!get_node(chunk, want->parts, &in) ||
		((want->parts & FIELDS_PODS) != 0 &&
			!get_pods(chunk, want, &in))) {
		chunk_close(chunk);
		return error_set(err, -EBADMSG, "a chunk cannot be read");
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
		members_fini(&chunk->pods[i].members);
		free(chunk->pods[i].hugetlb);
	}
	members_fini(&chunk->members);
	free(chunk->runs);
	free(chunk->boots);
	free(chunk->leading);
	free(chunk->elements);
	free(chunk->pods);
	free(chunk->lists);
	free(chunk->places);
	free(chunk->cells);
	free(chunk->begins);
	free(chunk);
}
