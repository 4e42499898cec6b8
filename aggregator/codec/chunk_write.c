#include "aggregator/codec/chunk.h"

#include "aggregator/codec/column.h"
#include "aggregator/codec/numbering.h"
#include "aggregator/codec/report_schema.h"
#include "lib/map.h"
#include "lib/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One pod of the chunk. If a report names a pod twice, the chunk has two. */
struct chunk_pod {
	const struct vm_pod *first;
	struct chunk_pod *duplicate; /* the same uid and inode again */
	/* The last duplicate that was looked up, for the pod in by_key. */
	struct chunk_pod *newest;
	size_t number;
	size_t seen; /* number of the last report with the pod, from 1 */
	size_t count;
	const struct vm_pod **cells; /* in its reports */
};

struct writer {
	const struct chunk_report *reports;
	size_t count;
	struct chunk_pod **pods;
	size_t pod_count, pod_capacity;
	struct map by_key;
	struct chunk_pod **cells; /* of all reports, one after the other */
	size_t cell_count;
	uint64_t *values; /* of the current column */
};

static void put_text(struct buffer *out, const char *text)
{
	size_t len = strlen(text);

	column_put_varint(out, len);
	buffer_append(out, text, len);
}

static void put_bytes(struct buffer *out, const struct buffer *part)
{
	out->overflowed |= part->overflowed;
	buffer_append(out, part->data, part->len);
}

/* The length, then the bytes. */
static void put_part(struct buffer *out, const struct buffer *part)
{
	column_put_varint(out, part->len);
	put_bytes(out, part);
}

/* ---- the node ---- */

static int compare_runs(const void *list, size_t a, size_t b)
{
	const struct chunk_report *reports = list;

	return memcmp(reports[a].run_id, reports[b].run_id,
		REPORT_RUN_ID_BYTES);
}

static int compare_boots(const void *list, size_t a, size_t b)
{
	const struct chunk_report *reports = list;

	return strcmp(reports[a].report.boot_id, reports[b].report.boot_id);
}

/* Puts a list of the runs; numbers get the number of each report's run. */
static void put_runs(struct buffer *out, uint64_t *numbers,
	const struct writer *w)
{
	struct numbering runs;

	numbering_init(&runs, numbers, w->reports, w->count, compare_runs);
	column_put_varint(out, runs.count);
	for (size_t i = 0; i < runs.count; i++) {
		buffer_append(out, w->reports[runs.firsts[i]].run_id,
			REPORT_RUN_ID_BYTES);
	}
	numbering_fini(&runs);
}

static void put_boots(struct buffer *out, uint64_t *numbers,
	const struct writer *w)
{
	struct numbering boots;

	numbering_init(&boots, numbers, w->reports, w->count, compare_boots);
	column_put_varint(out, boots.count);
	for (size_t i = 0; i < boots.count; i++) {
		put_text(out, w->reports[boots.firsts[i]].report.boot_id);
	}
	numbering_fini(&boots);
}

/* The columns of an array element. at: offset of the array's count in a report,
 * offset of the element, and its index. A report with fewer elements has
 * unknown values. */
static void put_elements(struct buffer *out, struct column_presence *presence,
	const struct writer *w, struct schema_fields fields, const size_t at[3])
{
	for (size_t f = 0; f < fields.count; f++) {
		for (size_t i = 0; i < w->count; i++) {
			const char *report =
				(const char *)&w->reports[i].report;
			size_t has =
				*(const size_t *)(const void *)(report + at[0]);

			w->values[i] = has > at[2]
				? schema_field_get(&fields.list[f],
					  report + at[1], 0)
				: REPORT_UNKNOWN;
		}
		column_write(out, presence, w->values, w->count);
	}
}

static void put_node_fields(struct buffer *out,
	struct column_presence *presence, const struct writer *w)
{
	for (size_t i = 0; i < w->count; i++) {
		w->values[i] = w->reports[i].sample_ms -
			w->reports[i].report.monotonic_us / 1000;
	}
	column_write(out, presence, w->values, w->count);
	for (size_t f = 0; f < schema_report.count; f++) {
		for (size_t i = 0; i < w->count; i++) {
			const struct report *report = &w->reports[i].report;

			w->values[i] = schema_field_get(&schema_report.list[f],
				report, report->monotonic_us);
		}
		column_write(out, presence, w->values, w->count);
	}
}

static void put_node(struct buffer *out, struct writer *w)
{
	scoped_buffer struct buffer part = BUFFER_MAX(CHUNK_BYTES_MAX);
	scoped_free uint64_t *boots = xcalloc(w->count, sizeof(*boots));
	struct column_presence presence = { 0 };
	size_t sizes = 0, numa = 0;

	for (size_t i = 0; i < w->count; i++) {
		const struct report *report = &w->reports[i].report;

		sizes = report->hugepages_count > sizes
			? report->hugepages_count
			: sizes;
		numa = report->numa_hugepages_count > numa
			? report->numa_hugepages_count
			: numa;
	}
	put_runs(out, w->values, w);
	put_boots(out, boots, w);
	column_put_varint(out, sizes);
	column_put_varint(out, numa);
	column_write(&part, &presence, w->values, w->count);
	column_write(&part, &presence, boots, w->count);
	put_node_fields(&part, &presence, w);
	for (size_t i = 0; i < sizes; i++) {
		put_elements(&part, &presence, w, schema_hugepages,
			(const size_t[]){
				offsetof(struct report, hugepages_count),
				offsetof(struct report, hugepages[i]), i });
	}
	for (size_t i = 0; i < numa; i++) {
		put_elements(&part, &presence, w, schema_numa,
			(const size_t[]){
				offsetof(struct report, numa_hugepages_count),
				offsetof(struct report, numa_hugepages[i]),
				i });
	}
	put_part(out, &part);
	column_presence_fini(&presence);
}

/* ---- the pods ---- */

static bool is_same(const struct vm_pod *a, const struct vm_pod *b)
{
	return a->cgroup_inode == b->cgroup_inode &&
		strcmp(a->pod_uid, b->pod_uid) == 0;
}

static struct chunk_pod *add_pod(struct writer *w, const struct vm_pod *vm)
{
	struct chunk_pod *pod = xcalloc(1, sizeof(*pod));

	pod->first = vm;
	pod->number = w->pod_count;
	w->pods = xgrow(w->pods, w->pod_count, &w->pod_capacity,
		sizeof(struct chunk_pod *));
	w->pods[w->pod_count++] = pod;
	return pod;
}

/* The next duplicate that the report `report` does not have yet; first was seen
 * in it. All duplicates up to first->newest were. */
static struct chunk_pod *next_duplicate(struct writer *w,
	struct chunk_pod *first, const struct vm_pod *vm, size_t report)
{
	struct chunk_pod *pod =
		first->newest != NULL && first->newest->seen == report
		? first->newest
		: first;

	while (pod->seen == report) {
		pod->duplicate = pod->duplicate == NULL ? add_pod(w, vm)
							: pod->duplicate;
		pod = pod->duplicate;
	}
	first->newest = pod;
	return pod;
}

/* Pods mostly keep their order from report to report: guess is the pod at the
 * same index of the previous report. */
static struct chunk_pod *find_pod(struct writer *w, const struct vm_pod *vm,
	struct chunk_pod *guess, size_t report)
{
	scoped_free char *key = NULL;
	struct chunk_pod *pod = guess;

	if (pod != NULL && pod->seen != report && is_same(pod->first, vm)) {
		return pod;
	}
	key = xasprintf("%s/%llx", vm->pod_uid,
		(unsigned long long)vm->cgroup_inode);
	pod = map_get(&w->by_key, key);
	if (pod == NULL) {
		pod = add_pod(w, vm);
		(void)map_put(&w->by_key, key, pod);
	}
	return pod->seen == report ? next_duplicate(w, pod, vm, report) : pod;
}

static void find_pods(struct writer *w)
{
	size_t before = 0, before_count = 0, at = 0;

	for (size_t i = 0; i < w->count; i++) {
		const struct report *report = &w->reports[i].report;
		size_t begin = at;

		for (size_t v = 0; v < report->vm_count; v++, at++) {
			struct chunk_pod *guess =
				v < before_count ? w->cells[before + v] : NULL;

			w->cells[at] =
				find_pod(w, &report->vms[v], guess, i + 1);
			w->cells[at]->seen = i + 1;
			w->cells[at]->count++;
		}
		before = begin;
		before_count = report->vm_count;
	}
}

/* The pods of a report, in cells. */
struct pod_list {
	size_t at, count;
};

static bool is_same_list(const struct writer *w, const struct pod_list *a,
	const struct pod_list *b)
{
	return a->count == b->count &&
		(a->count == 0 ||
			memcmp(&w->cells[a->at], &w->cells[b->at],
				a->count * sizeof(struct chunk_pod *)) == 0);
}

static void put_list(struct buffer *lists, const struct writer *w,
	const struct pod_list *list)
{
	column_put_varint(lists, list->count);
	for (size_t v = 0; v < list->count; v++) {
		column_put_varint(lists, w->cells[list->at + v]->number);
	}
}

/* The lists of pods of the reports; consecutive equal lists are one. */
static void put_lists(struct buffer *out, struct writer *w)
{
	scoped_buffer struct buffer lists = BUFFER_MAX(CHUNK_BYTES_MAX);
	scoped_buffer struct buffer part = BUFFER_MAX(CHUNK_BYTES_MAX);
	struct column_presence presence = { 0 };
	struct pod_list last = { 0 };
	size_t count = 0, at = 0;

	for (size_t i = 0; i < w->count; i++) {
		const struct pod_list list = { at,
			w->reports[i].report.vm_count };

		if (count == 0 || !is_same_list(w, &list, &last)) {
			last = list;
			put_list(&lists, w, &list);
			count++;
		}
		w->values[i] = count - 1;
		at += list.count;
	}
	column_put_varint(out, count);
	put_bytes(out, &lists);
	column_write(&part, &presence, w->values, w->count);
	put_part(out, &part);
	column_presence_fini(&presence);
}

static size_t most_sizes(const struct chunk_pod *pod)
{
	size_t most = 0;

	for (size_t i = 0; i < pod->count; i++) {
		size_t count = pod->cells[i]->hugetlb_count;

		most = count > most ? count : most;
	}
	return most;
}

static void put_pod(struct buffer *out, const struct writer *w,
	const struct chunk_pod *pod, size_t sizes)
{
	struct column_presence presence = { 0 };

	for (size_t f = 0; f < schema_vm.count; f++) {
		for (size_t i = 0; i < pod->count; i++) {
			w->values[i] = schema_field_get(&schema_vm.list[f],
				pod->cells[i], 0);
		}
		column_write(out, &presence, w->values, pod->count);
	}
	for (size_t f = 0; f < sizes * schema_hugetlb.count; f++) {
		const struct schema_field *field =
			&schema_hugetlb.list[f % schema_hugetlb.count];
		size_t size = f / schema_hugetlb.count;

		for (size_t i = 0; i < pod->count; i++) {
			const struct vm_pod *vm = pod->cells[i];

			w->values[i] = vm->hugetlb_count > size
				? schema_field_get(field, &vm->hugetlb[size], 0)
				: REPORT_UNKNOWN;
		}
		column_write(out, &presence, w->values, pod->count);
	}
	column_presence_fini(&presence);
}

/* Sorts the cells by pod; sorted has room for all of them. */
static void sort_cells(struct writer *w, const struct vm_pod **sorted)
{
	const struct vm_pod **free_from = sorted;
	size_t at = 0;

	for (size_t p = 0; p < w->pod_count; p++) {
		w->pods[p]->cells = free_from;
		free_from += w->pods[p]->count;
		w->pods[p]->count = 0;
	}
	for (size_t i = 0; i < w->count; i++) {
		const struct report *report = &w->reports[i].report;

		for (size_t v = 0; v < report->vm_count; v++, at++) {
			struct chunk_pod *pod = w->cells[at];

			pod->cells[pod->count++] = &report->vms[v];
		}
	}
}

static void put_pods(struct buffer *out, struct writer *w)
{
	scoped_buffer struct buffer parts = BUFFER_MAX(CHUNK_BYTES_MAX);
	scoped_free const struct vm_pod **sorted =
		xcalloc(w->cell_count, sizeof(struct vm_pod *));

	find_pods(w);
	sort_cells(w, sorted);
	column_put_varint(out, w->pod_count);
	for (size_t p = 0; p < w->pod_count; p++) {
		const struct chunk_pod *pod = w->pods[p];
		size_t sizes = most_sizes(pod);
		size_t before = parts.len;

		put_pod(&parts, w, pod, sizes);
		put_text(out, pod->first->pod_uid);
		column_put_varint(out, pod->first->cgroup_inode);
		column_put_varint(out, pod->count);
		column_put_varint(out, sizes);
		column_put_varint(out, parts.len - before);
	}
	put_lists(out, w);
	put_bytes(out, &parts);
	for (size_t p = 0; p < w->pod_count; p++) {
		free(w->pods[p]);
	}
	free(w->pods);
	map_fini(&w->by_key);
}

int chunk_write(struct buffer *out, const struct chunk_report *reports,
	size_t count, struct error *err)
{
	scoped_buffer struct buffer body = BUFFER_MAX(CHUNK_BYTES_MAX);
	struct writer w = { .reports = reports, .count = count };

	assert(count > 0 && count <= CHUNK_REPORTS_MAX);
	for (size_t i = 0; i < count; i++) {
		w.cell_count += reports[i].report.vm_count;
	}
	assert(w.cell_count <= CHUNK_CELLS_MAX);
	w.cells = xcalloc(w.cell_count, sizeof(struct chunk_pod *));
	w.values = xcalloc(count, sizeof(*w.values));
	column_put_varint(&body, count);
	put_node(&body, &w);
	put_pods(&body, &w);
	column_seal(out, CHUNK_VERSION, &body);
	free(w.cells);
	free(w.values);
	return out->overflowed
		? error_set(err, -EFBIG, "the chunk is too large")
		: 0;
}
