#include "aggregator/codec/chunk.h"

#include "aggregator/codec/chunk_private.h"
#include "lib/memory.h"

#include <errno.h>
#include <string.h>

size_t chunk_count(const struct chunk *chunk)
{
	return chunk->count;
}

/* The value of a leading column for report number `at`. */
static uint64_t leading_of(const struct chunk *chunk, size_t c, size_t at)
{
	return chunk->leading[c * chunk->count + at];
}

static uint64_t monotonic_of(const struct chunk *chunk, size_t at)
{
	return chunk->monotonic_us == NULL ? chunk->pattern.monotonic_us
					   : chunk->monotonic_us[at];
}

uint64_t chunk_sample_ms(const struct chunk *chunk, size_t at)
{
	return leading_of(chunk, SAMPLE, at) + monotonic_of(chunk, at) / 1000;
}

static bool set_node(struct report *report, const struct chunk *chunk,
	size_t at)
{
	const uint64_t *values;
	size_t stride = chunk->count;

	if (!columns_set(&chunk->columns, report, at,
		    monotonic_of(chunk, at)) ||
		report->hugepages_count > chunk->sizes ||
		report->numa_hugepages_count > chunk->numa) {
		return false;
	}
	if (chunk->elements == NULL) {
		return true;
	}
	values = chunk->elements + at;
	for (size_t i = 0; i < report->hugepages_count; i++) {
		(void)schema_set(schema_hugepages, &report->hugepages[i],
			values + i * schema_hugepages.count * stride, stride,
			0);
	}
	values += chunk->sizes * schema_hugepages.count * stride;
	for (size_t i = 0; i < report->numa_hugepages_count; i++) {
		(void)schema_set(schema_numa, &report->numa_hugepages[i],
			values + i * schema_numa.count * stride, stride, 0);
	}
	return true;
}

static bool set_vm(struct vm_pod *vm, const struct chunk_pod *pod, size_t n)
{
	const uint64_t *values;

	*vm = pod->pattern;
	if (!columns_set(&pod->columns, vm, n, 0) ||
		vm->hugetlb_count > pod->sizes) {
		return false;
	}
	if (pod->hugetlb == NULL) {
		return true;
	}
	values = pod->hugetlb + n;
	for (size_t i = 0; i < vm->hugetlb_count; i++) {
		(void)schema_set(schema_hugetlb, &vm->hugetlb[i],
			values + i * schema_hugetlb.count * pod->count,
			pod->count, 0);
	}
	return true;
}

static bool set_vms(struct report *report, const struct chunk *chunk, size_t at)
{
	const struct cell *cells = chunk->cells + chunk->begins[at];
	bool is_good = true;

	report->vm_count = chunk->begins[at + 1] - chunk->begins[at];
	if (report->vm_count > 0) {
		report->vms = xcalloc(report->vm_count, sizeof(*report->vms));
	}
	for (size_t v = 0; is_good && v < report->vm_count; v++) {
		is_good = set_vm(&report->vms[v], &chunk->pods[cells[v].pod],
			cells[v].n);
	}
	return is_good;
}

/* Fills the report in place: reports are large, and there are many. */
int chunk_get(struct chunk_report *out, const struct chunk *chunk, size_t at,
	struct error *err)
{
	struct report *report = &out->report;

	out->sample_ms = chunk_sample_ms(chunk, at);
	memcpy(out->run_id, chunk->runs[leading_of(chunk, RUN, at)],
		REPORT_RUN_ID_BYTES);
	report_borrow(report, &chunk->pattern);
	memcpy(report->boot_id, chunk->boots[leading_of(chunk, BOOT, at)],
		sizeof(report->boot_id));
	if (!set_node(report, chunk, at) ||
		(chunk->begins != NULL && !set_vms(report, chunk, at))) {
		report_fini(report);
		return error_set(err, -EBADMSG,
			"a value in the chunk is out of range");
	}
	return 0;
}
