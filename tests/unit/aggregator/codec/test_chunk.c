#include "aggregator/codec/chunk.h"

#include "aggregator/codec/column.h"
#include "lib/crc.h"
#include "lib/files.h"
#include "lib/memory.h"
#include "proto/wire.h"
#include "tests/unit/aggregator/sample.h"
#include "tests/unit/proto/report_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

static const struct chunk_selection all = { SCHEMA_ALL, NULL };

/* A pod whose counters run, but for one in eight that does not. */
static void fill_vm(uint64_t *seed, struct vm_pod *vm, uint64_t at)
{
	*vm = sample_vm("", random_pick(seed, 3));
	(void)snprintf(vm->pod_uid, sizeof(vm->pod_uid), "pod-%u",
		random_pick(seed, 9));
	vm->cpu_usage_us = at * 12345;
	vm->memory_current_bytes = at << 12;
	report_rows_fill(vm, OF_POD, seed, 8);
	vm->hugetlb_count = random_pick(seed, REPORT_HUGEPAGE_SIZES + 1);
	for (size_t i = 0; i < vm->hugetlb_count; i++) {
		vm->hugetlb[i] = (struct hugetlb_use){ 1 << 21, at << 21 };
		report_rows_fill(&vm->hugetlb[i], OF_HUGETLB, seed, 8);
	}
}

static void fill_lists(uint64_t *seed, struct report *r)
{
	r->hugepages_count = random_pick(seed, REPORT_HUGEPAGE_SIZES + 1);
	for (size_t i = 0; i < r->hugepages_count; i++) {
		r->hugepages[i] = (struct hugepages){ 1 << 21, 9, 5, 0 };
		report_rows_fill(&r->hugepages[i], OF_HUGEPAGES, seed, 8);
	}
	r->numa_hugepages_count = random_pick(seed, REPORT_NUMA_HUGEPAGES + 1);
	for (size_t i = 0; i < r->numa_hugepages_count; i++) {
		r->numa_hugepages[i] =
			(struct numa_hugepages){ i, 1 << 30, 2, 1 };
		report_rows_fill(&r->numa_hugepages[i], OF_NUMA, seed, 8);
	}
	r->vm_count = random_pick(seed, 12);
	r->vms =
		r->vm_count == 0 ? NULL : xcalloc(r->vm_count, sizeof(*r->vms));
	for (size_t i = 0; i < r->vm_count; i++) {
		fill_vm(seed, &r->vms[i], r->seq);
	}
}

/* A report that an agent might send on a very bad day. */
static struct report odd_report(uint64_t *seed, uint64_t seq)
{
	struct report r = sample_report(seq, 100 + 2.0 * (double)seq);
	struct report odd = r;

	odd.cpu.user_us = seq * 10000 * random_pick(seed, 5);
	odd.cpu.idle_us = seq * 10000;
	odd.own.cpu_us = seq * 300;
	report_rows_fill(&odd, OF_NODE, seed, 8);
	odd.seq = r.seq;
	odd.monotonic_us = r.monotonic_us + random_pick(seed, 500);
	(void)snprintf(odd.boot_id, sizeof(odd.boot_id), "%s",
		random_pick(seed, 3) == 0 ? "" : "boot-2");
	fill_lists(seed, &odd);
	return odd;
}

static struct chunk_report *odd_reports(uint64_t seed, size_t count)
{
	struct chunk_report *reports = xcalloc(count, sizeof(*reports));
	uint64_t state = seed * 7919 + 1;

	for (size_t i = 0; i < count; i++) {
		memset(reports[i].run_id, (int)(i / 50), REPORT_RUN_ID_BYTES);
		reports[i].sample_ms = UINT64_C(1790000000000) + i * 2000 +
			random_pick(&state, 20);
		reports[i].report = odd_report(&state, i + 1);
	}
	return reports;
}

static void free_reports(struct chunk_report *reports, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		report_fini(&reports[i].report);
	}
	free(reports);
}

/* Bit by bit: NAN is NAN, and -0 is not 0. */
static void assert_same(const struct report *is, const struct report *was)
{
	struct report a = *is, b = *was;

	assert_int_equal(a.vm_count, b.vm_count);
	if (a.vm_count > 0) {
		assert_memory_equal(a.vms, b.vms, a.vm_count * sizeof(*a.vms));
	}
	a.vms = b.vms = NULL;
	/* The padding of the booleans is left out. */
	assert_string_equal(a.boot_id, b.boot_id);
	scoped_buffer struct buffer pa = BUFFER_MAX(1 << 20);
	scoped_buffer struct buffer pb = BUFFER_MAX(1 << 20);
	wire_pack_report(&pa, is);
	wire_pack_report(&pb, was);
	assert_int_equal(pa.len, pb.len);
	assert_memory_equal(pa.data, pb.data, pa.len);
	assert_memory_equal(&a.pressure, &b.pressure, sizeof(a.pressure));
	assert_memory_equal(&a.kubepods, &b.kubepods, sizeof(a.kubepods));
	assert_memory_equal(&a.cpu, &b.cpu, sizeof(a.cpu));
	assert_memory_equal(a.hugepages, b.hugepages, sizeof(a.hugepages));
	assert_memory_equal(a.numa_hugepages, b.numa_hugepages,
		a.numa_hugepages_count * sizeof(a.numa_hugepages[0]));
}

static void assert_round_trip(const struct chunk_report *reports, size_t count)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(CHUNK_BYTES_MAX);
	struct chunk *chunk;
	struct chunk_report got;

	assert_int_equal(chunk_write(&bytes, reports, count, NULL), 0);
	assert_int_equal(chunk_open(&chunk, bytes.data, bytes.len, &all, NULL),
		0);
	assert_int_equal(chunk_count(chunk), count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(chunk_get(&got, chunk, i, NULL), 0);
		assert_int_equal(got.sample_ms, reports[i].sample_ms);
		assert_int_equal(chunk_sample_ms(chunk, i), got.sample_ms);
		assert_memory_equal(got.run_id, reports[i].run_id,
			REPORT_RUN_ID_BYTES);
		assert_same(&got.report, &reports[i].report);
		report_fini(&got.report);
	}
	chunk_close(chunk);
}

static void reads_back_reports_of_many_runs_and_boots(void **state)
{
	enum { COUNT = 3000 };
	struct chunk_report *reports = xcalloc(COUNT, sizeof(*reports));

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		struct report *r = &reports[i].report;
		uint64_t run = i * 7919 % 1000;

		*r = steady_report(i, 100 + 2 * (double)i, 1);
		memcpy(reports[i].run_id, &run, sizeof(run));
		(void)snprintf(r->boot_id, sizeof(r->boot_id), "boot-%zu",
			i * 6007 % 1500);
		reports[i].sample_ms = UINT64_C(1790000000000) + i * 2000;
	}
	assert_round_trip(reports, COUNT);
	free(reports);
}

static void reads_back_a_pod_that_a_report_names_often(void **state)
{
	enum { COUNT = 6, TIMES = 2048 };
	struct chunk_report *reports = xcalloc(COUNT, sizeof(*reports));

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		struct report *r = &reports[i].report;

		*r = steady_report(i, 100 + 2 * (double)i, 1);
		r->vms = xcalloc(TIMES, sizeof(*r->vms));
		r->vm_count = i % 2 == 0 ? TIMES : TIMES / 2 + i;
		for (size_t v = 0; v < r->vm_count; v++) {
			r->vms[v] = sample_vm((v + i) % 3 == 0 ? "b" : "a", 1);
			r->vms[v].cpu_usage_us = i * 1000 + v;
		}
		reports[i].sample_ms = UINT64_C(1790000000000) + i * 2000;
	}
	assert_round_trip(reports, COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		report_fini(&reports[i].report);
	}
	free(reports);
}

static void refuses_a_chunk_that_does_not_fit(void **state)
{
	struct chunk_report *reports = odd_reports(7, 64);
	scoped_buffer struct buffer whole = BUFFER_MAX(CHUNK_BYTES_MAX);
	struct error err;

	(void)state;
	assert_int_equal(chunk_write(&whole, reports, 64, NULL), 0);
	for (size_t most = 1; most < whole.len; most += 101) {
		scoped_buffer struct buffer bytes = BUFFER_MAX(most);

		assert_int_equal(chunk_write(&bytes, reports, 64, &err),
			-EFBIG);
		assert_string_equal(err.text, "the chunk is too large");
	}
	free_reports(reports, 64);
}

static void reads_back_every_report_unchanged(void **state)
{
	static const size_t counts[] = { 1, 2, 7, 63, 64, 65, 128, 200 };

	(void)state;
	for (size_t i = 0; i < 40; i++) {
		size_t count = counts[i % count_of(counts)];
		struct chunk_report *reports = odd_reports(i, count);

		assert_round_trip(reports, count);
		free_reports(reports, count);
	}
}

static void reads_back_doubles_to_the_last_bit(void **state)
{
	static const double values[] = { 0, -0.0, 0.01, 0.29, 1.1, 99999.99,
		5e-324, 1.7976931348623157e308, 0.1 + 0.2, 1e13,
		123456789.125 };
	struct chunk_report reports[count_of(values)];
	scoped_buffer struct buffer bytes = BUFFER_MAX(CHUNK_BYTES_MAX);
	struct chunk *chunk;
	struct chunk_report got;

	(void)state;
	for (size_t i = 0; i < count_of(values); i++) {
		reports[i] = (struct chunk_report){ .sample_ms = i,
			.report = sample_report(i + 1, 100) };
		reports[i].report.load5 = values[i];
	}
	assert_int_equal(chunk_write(&bytes, reports, count_of(values), NULL),
		0);
	assert_int_equal(chunk_open(&chunk, bytes.data, bytes.len, &all, NULL),
		0);
	for (size_t i = 0; i < count_of(values); i++) {
		assert_int_equal(chunk_get(&got, chunk, i, NULL), 0);
		assert_memory_equal(&got.report.load5, &values[i],
			sizeof(double));
		assert_true(isnan(got.report.load1));
	}
	chunk_close(chunk);
}

/* Each member as in `whole` if its part is wanted, else unknown. */
static void assert_wanted(struct schema_fields fields, const void *is,
	const void *whole, const void *unknown, unsigned int parts)
{
	for (size_t f = 0; f < fields.count; f++) {
		const struct schema_field *field = &fields.list[f];
		bool is_wanted = field->part == 0 || (field->part & parts) != 0;

		assert_int_equal(schema_field_get(field, is, 0),
			schema_field_get(field, is_wanted ? whole : unknown,
				0));
	}
}

static void assert_parts(const struct report *is, const struct report *was,
	unsigned int parts)
{
	struct report unknown;
	struct vm_pod unknown_vm;

	report_init(&unknown);
	vm_pod_init(&unknown_vm);
	assert_string_equal(is->boot_id, was->boot_id);
	assert_wanted(schema_report, is, was, &unknown, parts);
	for (size_t i = 0; i < is->hugepages_count; i++) {
		assert_memory_equal(&is->hugepages[i], &was->hugepages[i],
			sizeof(is->hugepages[i]));
	}
	assert_int_equal(is->vm_count,
		(parts & SCHEMA_PODS) == 0 ? 0 : was->vm_count);
	for (size_t v = 0; v < is->vm_count; v++) {
		const struct vm_pod *vm = &is->vms[v];

		assert_string_equal(vm->pod_uid, was->vms[v].pod_uid);
		assert_int_equal(vm->cgroup_inode, was->vms[v].cgroup_inode);
		assert_wanted(schema_vm, vm, &was->vms[v], &unknown_vm, parts);
		assert_memory_equal(vm->hugetlb, was->vms[v].hugetlb,
			vm->hugetlb_count * sizeof(vm->hugetlb[0]));
	}
}

static void reads_only_the_parts_that_are_asked_for(void **state)
{
	enum { COUNT = 70 };
	struct chunk_report *reports = odd_reports(4, COUNT);
	scoped_buffer struct buffer bytes = BUFFER_MAX(CHUNK_BYTES_MAX);
	struct chunk_report got;
	struct chunk *chunk;

	(void)state;
	assert_int_equal(chunk_write(&bytes, reports, COUNT, NULL), 0);
	for (unsigned int parts = 0; parts <= SCHEMA_ALL; parts++) {
		const struct chunk_selection want = { parts, NULL };

		assert_int_equal(
			chunk_open(&chunk, bytes.data, bytes.len, &want, NULL),
			0);
		for (size_t i = 0; i < COUNT; i++) {
			assert_int_equal(chunk_get(&got, chunk, i, NULL), 0);
			assert_int_equal(got.sample_ms, reports[i].sample_ms);
			assert_parts(&got.report, &reports[i].report, parts);
			report_fini(&got.report);
		}
		chunk_close(chunk);
	}
	free_reports(reports, COUNT);
}

static void assert_only_pod_4(const struct report *is, const struct report *was)
{
	size_t at = 0;

	for (size_t v = 0; v < was->vm_count; v++) {
		if (strcmp(was->vms[v].pod_uid, "pod-4") == 0) {
			assert_in_range(at, 0, is->vm_count - 1);
			assert_memory_equal(&is->vms[at], &was->vms[v],
				sizeof(was->vms[v]));
			at++;
		}
	}
	assert_int_equal(is->vm_count, at);
}

static void reads_one_pod_alone(void **state)
{
	struct chunk_report *reports = odd_reports(3, 100);
	scoped_buffer struct buffer bytes = BUFFER_MAX(CHUNK_BYTES_MAX);
	const struct chunk_selection want = { SCHEMA_ALL, "pod-4" };
	struct chunk_report got;
	struct chunk *chunk;

	(void)state;
	assert_int_equal(chunk_write(&bytes, reports, 100, NULL), 0);
	assert_int_equal(chunk_open(&chunk, bytes.data, bytes.len, &want, NULL),
		0);
	for (size_t i = 0; i < 100; i++) {
		assert_int_equal(chunk_get(&got, chunk, i, NULL), 0);
		assert_only_pod_4(&got.report, &reports[i].report);
		report_fini(&got.report);
	}
	chunk_close(chunk);
	free_reports(reports, 100);
}

static void detects_damage(void **state)
{
	struct chunk_report *reports = odd_reports(5, 30);
	scoped_buffer struct buffer bytes = BUFFER_MAX(CHUNK_BYTES_MAX);
	struct chunk *chunk;

	(void)state;
	assert_int_equal(chunk_write(&bytes, reports, 30, NULL), 0);
	for (size_t i = 0; i < bytes.len; i += 3) {
		bytes.data[i] ^= 0x10;
		assert_int_equal(
			chunk_open(&chunk, bytes.data, bytes.len, &all, NULL),
			-EBADMSG);
		bytes.data[i] ^= 0x10;
		assert_int_equal(chunk_open(&chunk, bytes.data, i, &all, NULL),
			-EBADMSG);
	}
	free_reports(reports, 30);
}

/* Both where the column is read and where it is skipped. */
static void refuses_columns_that_end_too_early(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 16);
	struct column_presence presence = { 0 };
	uint64_t values[100];

	(void)state;
	for (size_t i = 0; i < count_of(values); i++) {
		values[i] = i % 7 == 0 ? REPORT_UNKNOWN : i * i * i;
	}
	column_write(&out, &presence, values, count_of(values));
	column_presence_fini(&presence);
	for (size_t len = 0; len < out.len; len++) {
		scoped_free uint8_t *bytes = xmemdup(out.data, len);
		struct column_bytes in = { bytes, bytes + len };

		assert_false(
			column_read(values, count_of(values), &presence, &in));
		column_presence_fini(&presence);
		in = (struct column_bytes){ bytes, bytes + len };
		assert_false(column_skip(count_of(values), &presence, &in));
		column_presence_fini(&presence);
	}
}

static void assert_column(struct schema_fields fields,
	const struct report_row *row)
{
	for (size_t f = 0; f < fields.count; f++) {
		const struct schema_field *field = &fields.list[f];

		if (field->offset == row->offset && field->kind == row->kind &&
			field->most == row->most) {
			return;
		}
	}
	fail_msg("%s has no column", row->name);
}

static void assert_columns(struct schema_fields fields, enum report_list of)
{
	struct report_rows rows = report_rows(of);

	for (size_t i = 0; i < rows.count; i++) {
		assert_column(fields, &rows.list[i]);
	}
	for (size_t f = 0; f < fields.count; f++) {
		assert_int_not_equal(fields.list[f].most, 0);
	}
}

static void every_field_has_a_column_and_every_column_a_field(void **state)
{
	(void)state;
	assert_columns(schema_report, OF_NODE);
	assert_columns(schema_hugepages, OF_HUGEPAGES);
	assert_columns(schema_numa, OF_NUMA);
	assert_columns(schema_vm, OF_POD);
	assert_columns(schema_hugetlb, OF_HUGETLB);
}

/* Stores hold chunks of earlier programs: another checksum is another format,
 * and needs another CHUNK_VERSION. */
static void the_stored_format_does_not_change(void **state)
{
	struct chunk_report *reports = odd_reports(6, 64);
	scoped_buffer struct buffer bytes = BUFFER_MAX(CHUNK_BYTES_MAX);

	(void)state;
	assert_int_equal(chunk_write(&bytes, reports, 64, NULL), 0);
	assert_int_equal(CHUNK_VERSION, 3);
	assert_int_equal(crc_add(0, bytes.data, bytes.len), 0xa24efc16);
	free_reports(reports, 64);
}

/* Earlier programs wrote them: three steady reports with a pod. */
static void reads_chunks_of_earlier_versions(void **state)
{
	static const char *const names[] = { "tests/fixtures/chunks/version-1",
		"tests/fixtures/chunks/version-2" };
	struct vm_pod vm = sample_vm("a", 1);

	(void)state;
	for (size_t n = 0; n < count_of(names); n++) {
		char bytes[512];
		struct chunk *chunk;
		int len = file_read_at(bytes, sizeof(bytes), AT_FDCWD, names[n],
			NULL);

		assert_true(len > 0);
		assert_int_equal(bytes[0], n + 1);
		assert_int_equal(
			chunk_open(&chunk, bytes, (size_t)len, &all, NULL), 0);
		assert_int_equal(chunk_count(chunk), 3);
		for (size_t i = 0; i < 3; i++) {
			struct report was =
				steady_report(i + 1, 100 + 2 * (double)i, 1);
			struct chunk_report got;

			sample_add_vms(&was, &vm, 1);
			was.own.rss_bytes = i == 1 ? 4096 : REPORT_UNKNOWN;
			was.memory.swap_in_bytes =
				n == 0 ? REPORT_UNKNOWN : 4096 * i;
			assert_int_equal(chunk_get(&got, chunk, i, NULL), 0);
			assert_same(&got.report, &was);
			assert_int_equal(got.report.slow_every, 0);
			report_fini(&got.report);
			report_fini(&was);
		}
		chunk_close(chunk);
	}
}

static void packs_an_idle_node_into_few_bytes(void **state)
{
	enum { COUNT = 1000 };
	struct chunk_report *reports = xcalloc(COUNT, sizeof(*reports));
	scoped_buffer struct buffer bytes = BUFFER_MAX(CHUNK_BYTES_MAX);

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		reports[i].sample_ms = UINT64_C(1790000000000) + i * 2000;
		reports[i].report =
			steady_report(i + 1, 100 + 2 * (double)i, 1);
	}
	assert_int_equal(chunk_write(&bytes, reports, COUNT, NULL), 0);
	assert_in_range(bytes.len, 1, 700);
	free(reports);
}

/* Two columns, of which the first is skipped; nothing follows them. */
static void assert_skipped(const uint64_t *values, size_t count,
	const struct buffer *out)
{
	struct column_presence presence = { 0 };
	scoped_free uint8_t *bytes = xmemdup(out->data, out->len);
	struct column_bytes in = { bytes, bytes + out->len };
	uint64_t back[300], same;

	if (!column_read_same(&same, &in)) {
		assert_true(column_skip(count, &presence, &in));
		same = values[0];
	}
	assert_int_equal(same, values[0]);
	assert_true(column_read(back, count, &presence, &in));
	assert_memory_equal(back, values, count * sizeof(back[0]));
	assert_ptr_equal(in.at, in.end);
	column_presence_fini(&presence);
}

static void reads_back_columns_unchanged(void **state)
{
	uint64_t values[300], back[300], seed = 11;

	(void)state;
	for (size_t round = 0; round < 500; round++) {
		scoped_buffer struct buffer out = BUFFER_MAX(1 << 16);
		struct column_presence w = { 0 }, r = { 0 };
		struct column_bytes in;
		size_t count = random_pick(&seed, count_of(values) + 1);
		unsigned int shift = random_pick(&seed, 64);
		uint64_t factor = random_pick(&seed, 3) == 0 ? 4096 : 1;

		for (size_t i = 0; i < count; i++) {
			values[i] = random_pick(&seed, 9) == 0
				? REPORT_UNKNOWN
				: (random_next(&seed) >> shift) * factor;
		}
		column_write(&out, &w, values, count);
		column_write(&out, &w, values, count);
		in = (struct column_bytes){ (uint8_t *)out.data,
			(uint8_t *)out.data + out.len };
		assert_true(column_read(back, count, &r, &in));
		assert_true(column_read(back, count, &r, &in));
		assert_memory_equal(back, values, count * sizeof(back[0]));
		assert_ptr_equal(in.at, in.end);
		if (count > 0) {
			assert_skipped(values, count, &out);
		}
		column_presence_fini(&w);
		column_presence_fini(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_back_columns_unchanged),
		cmocka_unit_test(reads_back_every_report_unchanged),
		cmocka_unit_test(reads_back_reports_of_many_runs_and_boots),
		cmocka_unit_test(reads_back_a_pod_that_a_report_names_often),
		cmocka_unit_test(refuses_a_chunk_that_does_not_fit),
		cmocka_unit_test(reads_back_doubles_to_the_last_bit),
		cmocka_unit_test(reads_one_pod_alone),
		cmocka_unit_test(reads_only_the_parts_that_are_asked_for),
		cmocka_unit_test(
			every_field_has_a_column_and_every_column_a_field),
		cmocka_unit_test(the_stored_format_does_not_change),
		cmocka_unit_test(reads_chunks_of_earlier_versions),
		cmocka_unit_test(refuses_columns_that_end_too_early),
		cmocka_unit_test(detects_damage),
		cmocka_unit_test(packs_an_idle_node_into_few_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
