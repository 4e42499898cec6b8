/* Reports on the wire: every field there and back, and broken bytes. */
#include "proto/wire.h"

#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/unit/proto/report_rows.h"

#include <errno.h>
#include <math.h>
#include <plimsoll.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 1 << 20, ROUNDS = 400, ROUND_VMS_MAX = 12 };

static const uint8_t *bytes_of(const struct buffer *b)
{
	return (const uint8_t *)(b->data == NULL ? "" : b->data);
}

/* ---- synthetic reports ---- */

/* An unknown state is not sent, and so has no totals. */
static void clean_psi(struct psi *psi)
{
	if (psi->state == SOURCE_UNKNOWN) {
		psi->some_us = REPORT_UNKNOWN;
		psi->full_us = REPORT_UNKNOWN;
	}
}

static void clean_pressure(struct pressure *pressure)
{
	clean_psi(&pressure->cpu);
	clean_psi(&pressure->memory);
	clean_psi(&pressure->io);
}

static void fill_vm(struct vm_pod *vm, uint64_t *seed)
{
	vm_pod_init(vm);
	report_rows_fill(vm, OF_POD, seed, 1);
	clean_pressure(&vm->pressure);
	(void)snprintf(vm->pod_uid, sizeof(vm->pod_uid),
		"%08x-0000-4000-8000-%012x", random_pick(seed, UINT32_MAX),
		random_pick(seed, UINT32_MAX));
	vm->cgroup_inode = random_next(seed);
	vm->hugetlb_count = random_pick(seed, REPORT_HUGEPAGE_SIZES + 1);
	for (size_t i = 0; i < vm->hugetlb_count; i++) {
		report_rows_fill(&vm->hugetlb[i], OF_HUGETLB, seed, 1);
	}
}

static void fill_lists(struct report *r, uint64_t *seed)
{
	r->hugepages_count = random_pick(seed, REPORT_HUGEPAGE_SIZES + 1);
	for (size_t i = 0; i < r->hugepages_count; i++) {
		report_rows_fill(&r->hugepages[i], OF_HUGEPAGES, seed, 1);
	}
	r->numa_hugepages_count = random_pick(seed, REPORT_NUMA_HUGEPAGES + 1);
	for (size_t i = 0; i < r->numa_hugepages_count; i++) {
		report_rows_fill(&r->numa_hugepages[i], OF_NUMA, seed, 1);
	}
	r->vm_count = random_pick(seed, ROUND_VMS_MAX);
	r->vms = xcalloc(r->vm_count, sizeof(*r->vms));
	for (size_t i = 0; i < r->vm_count; i++) {
		fill_vm(&r->vms[i], seed);
	}
}

static void fill_report(struct report *r, uint64_t *seed)
{
	report_init(r);
	report_rows_fill(r, OF_NODE, seed, 1);
	clean_pressure(&r->pressure);
	clean_pressure(&r->kubepods);
	clean_psi(&r->irq);
	r->seq = 1 + (random_next(seed) >> (2 + random_pick(seed, 60)));
	if (random_pick(seed, 2) == 0) {
		memcpy(r->boot_id, "8ae4f5b2-3b1a-4c52-9f8f-0d1e2a3b4c5d", 37);
	}
	r->monotonic_us =
		1 + (random_next(seed) >> (4 + random_pick(seed, 60)));
	r->interval_ms = 10 + random_pick(seed, 3600000 - 10 + 1);
	r->dropped = random_next(seed) >> (1 + random_pick(seed, 63));
	fill_lists(r, seed);
}

/* ---- there and back ---- */

static void assert_field(const struct report_row *row, const void *a,
	const void *b)
{
	if (memcmp(a, b, row->size) != 0) {
		fail_msg("%s differs", row->name);
	}
}

static void assert_same(const void *a, const void *b, enum report_list of)
{
	struct report_rows rows = report_rows(of);

	for (size_t i = 0; i < rows.count; i++) {
		const struct report_row *row = &rows.list[i];

		assert_field(row, (const char *)a + row->offset,
			(const char *)b + row->offset);
	}
}

static void assert_same_vm(const struct vm_pod *a, const struct vm_pod *b)
{
	assert_string_equal(a->pod_uid, b->pod_uid);
	assert_true(a->cgroup_inode == b->cgroup_inode);
	assert_same(a, b, OF_POD);
	assert_int_equal(a->hugetlb_count, b->hugetlb_count);
	for (size_t i = 0; i < a->hugetlb_count; i++) {
		assert_same(&a->hugetlb[i], &b->hugetlb[i], OF_HUGETLB);
	}
}

static void assert_same_report(const struct report *a, const struct report *b)
{
	assert_string_equal(a->boot_id, b->boot_id);
	assert_same(a, b, OF_NODE);
	assert_int_equal(a->hugepages_count, b->hugepages_count);
	for (size_t i = 0; i < a->hugepages_count; i++) {
		assert_same(&a->hugepages[i], &b->hugepages[i], OF_HUGEPAGES);
	}
	assert_int_equal(a->numa_hugepages_count, b->numa_hugepages_count);
	for (size_t i = 0; i < a->numa_hugepages_count; i++) {
		assert_same(&a->numa_hugepages[i], &b->numa_hugepages[i],
			OF_NUMA);
	}
	assert_int_equal(a->vm_count, b->vm_count);
	for (size_t i = 0; i < a->vm_count; i++) {
		assert_same_vm(&a->vms[i], &b->vms[i]);
	}
}

static void unpacks_any_report_that_was_packed(void **state)
{
	uint64_t seed = 7473;

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
		struct report sent, got;

		fill_report(&sent, &seed);
		wire_pack_report(&bytes, &sent);
		assert_false(bytes.overflowed);
		assert_int_equal(wire_unpack_report(&got, bytes_of(&bytes),
					 bytes.len, NULL),
			0);
		assert_same_report(&sent, &got);
		report_fini(&sent);
		report_fini(&got);
	}
}

/* A missing value is never 0. */
static void takes_missing_fields_as_unknown(void **state)
{
	Plimsoll__Report wire = PLIMSOLL__REPORT__INIT;
	Plimsoll__Memory memory = PLIMSOLL__MEMORY__INIT;
	struct report want, got;
	uint8_t bytes[64];
	size_t len;

	(void)state;
	wire.has_seq = true;
	wire.seq = 1;
	wire.has_monotonic_us = true;
	wire.monotonic_us = 1;
	wire.has_interval_ms = true;
	wire.interval_ms = 2000;
	len = plimsoll__report__pack(&wire, bytes);
	assert_int_equal(wire_unpack_report(&got, bytes, len, NULL), 0);
	report_init(&want);
	want.seq = 1;
	want.monotonic_us = 1;
	want.wall_us = REPORT_UNKNOWN;
	want.interval_ms = 2000;
	assert_same_report(&want, &got);
	report_fini(&got);
	/* Nor does one struct need the one before it. */
	memory.has_total_bytes = true;
	memory.total_bytes = 5;
	wire.memory = &memory;
	len = plimsoll__report__pack(&wire, bytes);
	assert_int_equal(wire_unpack_report(&got, bytes, len, NULL), 0);
	want.memory.total_bytes = 5;
	assert_same_report(&want, &got);
	report_fini(&got);
}

/* ---- broken bytes ---- */

static void try_bytes(const uint8_t *bytes, size_t len)
{
	/* In memory of exactly this size, so that a sanitizer sees more. */
	scoped_free uint8_t *copy = xmemdup(bytes, len);
	struct report got;
	int r = wire_unpack_report(&got, copy, len, NULL);

	assert_true(r == 0 || r == -EBADMSG);
	if (r == 0) {
		report_fini(&got);
	}
}

static void refuses_broken_bytes_or_unpacks_valid_values(void **state)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
	uint64_t seed = 42;
	struct report report;

	(void)state;
	do {
		fill_report(&report, &seed);
		if (report.vm_count != 3) {
			report_fini(&report);
		}
	} while (report.vm_count != 3);
	wire_pack_report(&bytes, &report);
	report_fini(&report);
	for (size_t len = 0; len < bytes.len; len++) {
		try_bytes(bytes_of(&bytes), len);
	}
	for (size_t i = 0; i < bytes.len; i++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			bytes.data[i] = (char)(bytes.data[i] ^ (1 << bit));
			try_bytes(bytes_of(&bytes), bytes.len);
			bytes.data[i] = (char)(bytes.data[i] ^ (1 << bit));
		}
	}
}

static void refuses_bytes_that_are_not_a_report(void **state)
{
	struct report got = { .seq = 99 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(wire_unpack_report(&got, (const uint8_t *)"", 0, &err),
		-EBADMSG);
	assert_string_equal(err.text, "a report has no valid seq");
	assert_int_equal(
		wire_unpack_report(&got, (const uint8_t *)"\xff\xff", 2, &err),
		-EBADMSG);
	assert_string_equal(err.text, "cannot unpack the report");
	assert_int_equal(got.seq, 99);
}

static void marks_a_report_that_does_not_fit(void **state)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(10);
	struct report report;

	(void)state;
	report_init(&report);
	report.seq = 1;
	wire_pack_report(&bytes, &report);
	assert_true(bytes.overflowed);
	report_fini(&report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unpacks_any_report_that_was_packed),
		cmocka_unit_test(takes_missing_fields_as_unknown),
		cmocka_unit_test(refuses_broken_bytes_or_unpacks_valid_values),
		cmocka_unit_test(refuses_bytes_that_are_not_a_report),
		cmocka_unit_test(marks_a_report_that_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
