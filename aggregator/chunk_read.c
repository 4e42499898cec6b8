#include "aggregator/chunk.h"

#include "aggregator/column.h"
#include "aggregator/fields.h"
#include "lib/crc.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct pod {
	char uid[REPORT_UID_MAX];
	uint64_t inode;
	size_t count, sizes, bytes;
	size_t used; /* reports that were found to hold it */
	bool is_wanted;
	uint64_t *values; /* columns of count each */
};

/* A pod in a report: the n-th of those that hold it. */
struct cell {
	uint32_t pod, n;
};

struct list {
	size_t begin, count; /* in places */
};

struct chunk {
	size_t count, run_count, boot_count, sizes, numa;
	uint8_t (*runs)[REPORT_RUN_ID_BYTES];
	char (*boots)[REPORT_UID_MAX];
	uint64_t *values; /* columns of count each */
	struct pod *pods;
	size_t pod_count;
	struct list *lists;
	size_t list_count;
	uint32_t *places;
	size_t place_count, place_capacity;
	struct cell *cells;
	size_t *begins; /* of each report's cells, and the end of the last */
};

/* Columns before those of fields_report. */
enum { RUN, BOOT, SAMPLE, LEADING };

/* ---- reading ---- */

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

static bool get_columns(uint64_t *values, size_t columns, size_t count,
	struct column_bytes *in)
{
	struct column_presence presence = { 0 };
	bool is_good = true;

	for (size_t c = 0; is_good && c < columns; c++) {
		is_good = column_read(values + c * count, count, &presence, in);
	}
	column_presence_fini(&presence);
	return is_good && in->at == in->end;
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

static bool get_node(struct chunk *chunk, struct column_bytes *in)
{
	struct column_bytes part;
	size_t columns;

	if (!get_number(&chunk->count, in, CHUNK_REPORTS_MAX) ||
		chunk->count == 0 || !get_node_lists(chunk, in) ||
		!get_part(&part, in)) {
		return false;
	}
	columns = LEADING + fields_report.count +
		chunk->sizes * fields_hugepages.count +
		chunk->numa * fields_numa.count;
	chunk->values = xcalloc(columns * chunk->count, sizeof(uint64_t));
	return get_columns(chunk->values, columns, chunk->count, &part) &&
		all_below(chunk->values + RUN * chunk->count, chunk->count,
			chunk->run_count) &&
		all_below(chunk->values + BOOT * chunk->count, chunk->count,
			chunk->boot_count);
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

static bool get_lists(struct chunk *chunk, struct column_bytes *in)
{
	scoped_free uint64_t *lists = xcalloc(chunk->count, sizeof(*lists));
	struct column_bytes part;
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
	if (!get_part(&part, in) ||
		!get_columns(lists, 1, chunk->count, &part) ||
		!all_below(lists, chunk->count, chunk->list_count)) {
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

static bool get_pods(struct chunk *chunk, const char *pod_uid,
	struct column_bytes *in)
{
	size_t cells = 0;

	if (!get_pod_heads(chunk, pod_uid, in)) {
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
		size_t columns =
			fields_vm.count + pod->sizes * fields_hugetlb.count;
		struct column_bytes part = { .at = column_get_bytes(in,
						     pod->bytes) };

		if (part.at == NULL) {
			return false;
		}
		part.end = in->at;
		if (!pod->is_wanted) {
			continue;
		}
		pod->values = xcalloc(columns * pod->count, sizeof(uint64_t));
		if (!get_columns(pod->values, columns, pod->count, &part)) {
			return false;
		}
	}
	return in->at == in->end;
}

int chunk_open(struct chunk **out, const void *bytes, size_t len,
	const char *pod_uid, struct error *err)
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
	if (!get_node(chunk, &in) || !get_pods(chunk, pod_uid, &in)) {
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
		free(chunk->pods[i].values);
	}
	free(chunk->runs);
	free(chunk->boots);
	free(chunk->values);
	free(chunk->pods);
	free(chunk->lists);
	free(chunk->places);
	free(chunk->cells);
	free(chunk->begins);
	free(chunk);
}

/* ---- giving ---- */

size_t chunk_count(const struct chunk *chunk)
{
	return chunk->count;
}

/* Column number c, of report number at. */
static uint64_t value_of(const struct chunk *chunk, size_t c, size_t at)
{
	return chunk->values[c * chunk->count + at];
}

/* fields_report begins with seq, monotonic_us. */
static uint64_t monotonic_of(const struct chunk *chunk, size_t at)
{
	return value_of(chunk, LEADING + 1, at);
}

uint64_t chunk_sample_ms(const struct chunk *chunk, size_t at)
{
	return value_of(chunk, SAMPLE, at) + monotonic_of(chunk, at) / 1000;
}

static bool set_node(struct report *report, const struct chunk *chunk,
	size_t at)
{
	const uint64_t *values = chunk->values + at;
	size_t stride = chunk->count;
	size_t c = LEADING;

	if (!fields_set(fields_report, report, values + c * stride, stride,
		    monotonic_of(chunk, at)) ||
		report->hugepages_count > chunk->sizes ||
		report->numa_hugepages_count > chunk->numa) {
		return false;
	}
	c += fields_report.count;
	for (size_t i = 0; i < report->hugepages_count; i++) {
		(void)fields_set(fields_hugepages, &report->hugepages[i],
			values + (c + i * fields_hugepages.count) * stride,
			stride, 0);
	}
	c += chunk->sizes * fields_hugepages.count;
	for (size_t i = 0; i < report->numa_hugepages_count; i++) {
		(void)fields_set(fields_numa, &report->numa_hugepages[i],
			values + (c + i * fields_numa.count) * stride, stride,
			0);
	}
	return true;
}

static bool set_vm(struct vm_pod *vm, const struct pod *pod, size_t n)
{
	const uint64_t *values = pod->values + n;

	memcpy(vm->pod_uid, pod->uid, sizeof(vm->pod_uid));
	vm->cgroup_inode = pod->inode;
	if (!fields_set(fields_vm, vm, values, pod->count, 0) ||
		vm->hugetlb_count > pod->sizes) {
		return false;
	}
	values += fields_vm.count * pod->count;
	for (size_t i = 0; i < vm->hugetlb_count; i++) {
		(void)fields_set(fields_hugetlb, &vm->hugetlb[i],
			values + i * fields_hugetlb.count * pod->count,
			pod->count, 0);
	}
	return true;
}

/* Filled in place: a report is large, and there are many. */
int chunk_get(struct chunk_report *out, const struct chunk *chunk, size_t at,
	struct error *err)
{
	const struct cell *cells = chunk->cells + chunk->begins[at];
	struct report *report = &out->report;
	bool is_good;

	*out = (struct chunk_report){ .sample_ms = chunk_sample_ms(chunk, at) };
	memcpy(out->run_id, chunk->runs[value_of(chunk, RUN, at)],
		REPORT_RUN_ID_BYTES);
	memcpy(report->boot_id, chunk->boots[value_of(chunk, BOOT, at)],
		sizeof(report->boot_id));
	is_good = set_node(report, chunk, at);
	report->vm_count = chunk->begins[at + 1] - chunk->begins[at];
	if (report->vm_count > 0) {
		report->vms = xcalloc(report->vm_count, sizeof(*report->vms));
	}
	for (size_t v = 0; is_good && v < report->vm_count; v++) {
		is_good = set_vm(&report->vms[v], &chunk->pods[cells[v].pod],
			cells[v].n);
	}
	if (!is_good) {
		report_fini(report);
		return error_set(err, -EBADMSG,
			"a chunk holds a value that no report has");
	}
	return 0;
}
