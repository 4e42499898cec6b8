#include "aggregator/codec/chunk.h"

#include "aggregator/codec/column.h"
#include "lib/memory.h"
#include "proto/wire.h"
#include "tests/unit/aggregator/sample.h"

#include <errno.h>
#include <stdlib.h>

static const struct chunk_want all = { FIELDS_ALL, NULL };

/* xorshift64*; the same numbers each time. */
static uint64_t random_of(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static size_t below(uint64_t *state, size_t most)
{
	return (size_t)(random_of(state) % most);
}

/* Now and then what no counter does. */
static uint64_t odd(uint64_t *state, uint64_t usual)
{
	switch (below(state, 24)) {
	case 0:
		return REPORT_UNKNOWN;
	case 1:
		return random_of(state);
	case 2:
		return REPORT_UNKNOWN - 1;
	case 3:
		return 0;
	default:
		return usual;
	}
}

static void disturb_psi(uint64_t *state, struct psi *psi, uint64_t at)
{
	psi->state = (enum source_state)below(state, SOURCE_ERROR + 1);
	psi->some_us = odd(state, at * 3000);
	psi->full_us = odd(state, at * 1000);
}

static void disturb_pressure(uint64_t *state, struct pressure *p, uint64_t at)
{
	disturb_psi(state, &p->cpu, at);
	disturb_psi(state, &p->memory, at);
	disturb_psi(state, &p->io, at);
}

static double odd_double(uint64_t *state)
{
	switch (below(state, 6)) {
	case 0:
		return NAN;
	case 1:
		return (double)random_of(state);
	case 2:
		return 1.0 / 3;
	case 3:
		return 0;
	default:
		return (double)below(state, 1000) / 100;
	}
}

static void disturb_vm(uint64_t *state, struct vm_pod *vm, uint64_t at)
{
	vm_pod_init(vm);
	(void)snprintf(vm->pod_uid, sizeof(vm->pod_uid), "pod-%zu",
		below(state, 9));
	vm->cgroup_inode = below(state, 3);
	vm->cpu_usage_us = odd(state, at * 12345);
	vm->throttled_us = odd(state, 0);
	disturb_pressure(state, &vm->pressure, at);
	vm->memory_current_bytes = odd(state, at << 12);
	if (at % 5 == 0) {
		vm->working_set_bytes = odd(state, at << 12);
		vm->oom_kills = odd(state, 1);
	}
	vm->hugetlb_count = below(state, REPORT_HUGEPAGE_SIZES + 1);
	for (size_t i = 0; i < vm->hugetlb_count; i++) {
		vm->hugetlb[i].size_bytes = odd(state, 1 << 21);
		vm->hugetlb[i].used_bytes = odd(state, at << 21);
	}
}

static void disturb_lists(uint64_t *state, struct report *r)
{
	r->hugepages_count = below(state, REPORT_HUGEPAGE_SIZES + 1);
	for (size_t i = 0; i < r->hugepages_count; i++) {
		r->hugepages[i] = (struct hugepages){ odd(state, 1 << 21),
			odd(state, 9), odd(state, 5), odd(state, 0) };
	}
	r->numa_hugepages_count = below(state, REPORT_NUMA_HUGEPAGES + 1);
	for (size_t i = 0; i < r->numa_hugepages_count; i++) {
		r->numa_hugepages[i] = (struct numa_hugepages){ i,
			odd(state, 1 << 30), odd(state, 2), odd(state, 1) };
	}
	r->vm_count = below(state, 12);
	r->vms =
		r->vm_count == 0 ? NULL : xcalloc(r->vm_count, sizeof(*r->vms));
	for (size_t i = 0; i < r->vm_count; i++) {
		disturb_vm(state, &r->vms[i], r->seq);
	}
}

/* A report that an agent might send on a very bad day. */
static struct report odd_report(uint64_t *state, uint64_t seq)
{
	struct report r = sample_report(seq, 100 + 2.0 * (double)seq);

	r.monotonic_us += below(state, 500);
	r.wall_us = odd(state, r.monotonic_us + 1000000000);
	(void)snprintf(r.boot_id, sizeof(r.boot_id), "%s",
		below(state, 3) == 0 ? "" : "boot-2");
	r.cpu.state = (enum source_state)below(state, SOURCE_ERROR + 1);
	r.cpu.user_us = odd(state, seq * 10000 * below(state, 5));
	r.cpu.idle_us = odd(state, seq * 10000);
	disturb_pressure(state, &r.pressure, seq);
	disturb_pressure(state, &r.kubepods, seq);
	disturb_psi(state, &r.irq, seq);
	r.memory.available_bytes = odd(state, seq << 12);
	r.load1 = odd_double(state);
	r.load5 = odd_double(state);
	r.load15 = odd_double(state);
	r.kvm.state = (enum kvm_state)below(state, KVM_STATES);
	r.kvm.error_number = (int32_t)random_of(state);
	r.kvm.nested = (enum known_bool)below(state, 3);
	r.kvm.has_tun = below(state, 2) == 1;
	r.dropped = below(state, 3);
	r.vms_skipped = odd(state, 0);
	r.own.cpu_us = odd(state, seq * 300);
	disturb_lists(state, &r);
	return r;
}

static struct chunk_report *odd_reports(uint64_t seed, size_t count)
{
	struct chunk_report *reports = xcalloc(count, sizeof(*reports));
	uint64_t state = seed * 7919 + 1;

	for (size_t i = 0; i < count; i++) {
		memset(reports[i].run_id, (int)(i / 50), REPORT_RUN_ID_BYTES);
		reports[i].sample_ms =
			UINT64_C(1790000000000) + i * 2000 + below(&state, 20);
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

/* Member by member, bit by bit: NAN is NAN, and -0 is not 0. */
static void assert_same(const struct report *is, const struct report *was)
{
	struct report a = *is, b = *was;

	assert_int_equal(a.vm_count, b.vm_count);
	if (a.vm_count > 0) {
		assert_memory_equal(a.vms, b.vms, a.vm_count * sizeof(*a.vms));
	}
	a.vms = b.vms = NULL;
	/* What pads the booleans is nobody's. */
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

	chunk_write(&bytes, reports, count);
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

static void every_report_comes_out_as_it_went_in(void **state)
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

static void doubles_come_out_to_the_last_bit(void **state)
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
	chunk_write(&bytes, reports, count_of(values));
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

/* Each member as it is in `whole`, or as nobody said it. */
static void assert_wanted(struct fields fields, const void *is,
	const void *whole, const void *unknown, unsigned int parts)
{
	for (size_t f = 0; f < fields.count; f++) {
		const struct field *field = &fields.list[f];
		bool is_wanted = field->part == 0 || (field->part & parts) != 0;

		assert_int_equal(field_get(field, is, 0),
			field_get(field, is_wanted ? whole : unknown, 0));
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
	assert_wanted(fields_report, is, was, &unknown, parts);
	for (size_t i = 0; i < is->hugepages_count; i++) {
		assert_memory_equal(&is->hugepages[i], &was->hugepages[i],
			sizeof(is->hugepages[i]));
	}
	assert_int_equal(is->vm_count,
		(parts & FIELDS_PODS) == 0 ? 0 : was->vm_count);
	for (size_t v = 0; v < is->vm_count; v++) {
		const struct vm_pod *vm = &is->vms[v];

		assert_string_equal(vm->pod_uid, was->vms[v].pod_uid);
		assert_int_equal(vm->cgroup_inode, was->vms[v].cgroup_inode);
		assert_wanted(fields_vm, vm, &was->vms[v], &unknown_vm, parts);
		assert_memory_equal(vm->hugetlb, was->vms[v].hugetlb,
			vm->hugetlb_count * sizeof(vm->hugetlb[0]));
	}
}

static void what_is_wanted_is_there_and_the_rest_is_unknown(void **state)
{
	enum { COUNT = 70 };
	struct chunk_report *reports = odd_reports(4, COUNT);
	scoped_buffer struct buffer bytes = BUFFER_MAX(CHUNK_BYTES_MAX);
	struct chunk_report got;
	struct chunk *chunk;

	(void)state;
	chunk_write(&bytes, reports, COUNT);
	for (unsigned int parts = 0; parts <= FIELDS_ALL; parts++) {
		const struct chunk_want want = { parts, NULL };

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

static void one_pod_alone_can_be_read(void **state)
{
	struct chunk_report *reports = odd_reports(3, 100);
	scoped_buffer struct buffer bytes = BUFFER_MAX(CHUNK_BYTES_MAX);
	const struct chunk_want want = { FIELDS_ALL, "pod-4" };
	struct chunk_report got;
	struct chunk *chunk;

	(void)state;
	chunk_write(&bytes, reports, 100);
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

static void damage_is_found(void **state)
{
	struct chunk_report *reports = odd_reports(5, 30);
	scoped_buffer struct buffer bytes = BUFFER_MAX(CHUNK_BYTES_MAX);
	struct chunk *chunk;

	(void)state;
	chunk_write(&bytes, reports, 30);
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

/* Whether a column is read or passed over, it ends too early. */
static void columns_that_end_too_early_are_refused(void **state)
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

/* A day of a node at rest is worth little. */
static void what_hardly_changes_is_small(void **state)
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
	chunk_write(&bytes, reports, COUNT);
	assert_in_range(bytes.len, 1, 700);
	free(reports);
}

/* Two columns, the first of which is passed over; nothing is behind them. */
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

static void columns_come_out_as_they_went_in(void **state)
{
	uint64_t values[300], back[300], seed = 11;

	(void)state;
	for (size_t round = 0; round < 2000; round++) {
		scoped_buffer struct buffer out = BUFFER_MAX(1 << 16);
		struct column_presence w = { 0 }, r = { 0 };
		struct column_bytes in;
		size_t count = 1 + below(&seed, 300);
		unsigned int shift = (unsigned int)below(&seed, 64);
		uint64_t factor = below(&seed, 3) == 0 ? 4096 : 1;

		for (size_t i = 0; i < count; i++) {
			values[i] = below(&seed, 9) == 0
				? REPORT_UNKNOWN
				: (random_of(&seed) >> shift) * factor;
		}
		column_write(&out, &w, values, count);
		column_write(&out, &w, values, count);
		in = (struct column_bytes){ (uint8_t *)out.data,
			(uint8_t *)out.data + out.len };
		assert_true(column_read(back, count, &r, &in));
		assert_true(column_read(back, count, &r, &in));
		assert_memory_equal(back, values, count * sizeof(back[0]));
		assert_ptr_equal(in.at, in.end);
		assert_skipped(values, count, &out);
		column_presence_fini(&w);
		column_presence_fini(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_come_out_as_they_went_in),
		cmocka_unit_test(every_report_comes_out_as_it_went_in),
		cmocka_unit_test(doubles_come_out_to_the_last_bit),
		cmocka_unit_test(one_pod_alone_can_be_read),
		cmocka_unit_test(
			what_is_wanted_is_there_and_the_rest_is_unknown),
		cmocka_unit_test(columns_that_end_too_early_are_refused),
		cmocka_unit_test(damage_is_found),
		cmocka_unit_test(what_hardly_changes_is_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
