/* Reports on the wire: every field there and back, and broken bytes. */
#include "proto/wire.h"

#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/random.h"

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

/* ---- made up reports ---- */

/* Not known, 0, or a number of any length. */
static uint64_t some_total(uint64_t *seed)
{
	switch (random_pick(seed, 4)) {
	case 0:
		return REPORT_UNKNOWN;
	case 1:
		return random_pick(seed, 2);
	default:
		return random_next(seed) >> random_pick(seed, 64);
	}
}

static double some_share(uint64_t *seed)
{
	return random_pick(seed, 3) == 0
		? NAN
		: (double)random_pick(seed, 1000000) / 7;
}

/* What is in no state has no totals either. */
static struct psi some_psi(uint64_t *seed)
{
	struct psi psi = { (enum source_state)random_pick(seed,
				   SOURCE_ERROR + 1),
		REPORT_UNKNOWN, REPORT_UNKNOWN };

	if (psi.state != SOURCE_UNKNOWN) {
		psi.some_us = some_total(seed);
		psi.full_us = some_total(seed);
	}
	return psi;
}

static struct pressure some_pressure(uint64_t *seed)
{
	return (struct pressure){ some_psi(seed), some_psi(seed),
		some_psi(seed) };
}

static void fill_vm(struct vm_pod *vm, uint64_t *seed)
{
	vm_pod_init(vm);
	(void)snprintf(vm->pod_uid, sizeof(vm->pod_uid),
		"%08x-0000-4000-8000-%012x", random_pick(seed, UINT32_MAX),
		random_pick(seed, UINT32_MAX));
	vm->cgroup_inode = some_total(seed);
	vm->cpu_usage_us = some_total(seed);
	vm->nr_throttled = some_total(seed);
	vm->throttled_us = some_total(seed);
	vm->pressure = some_pressure(seed);
	vm->memory_current_bytes = some_total(seed);
	vm->working_set_bytes = some_total(seed);
	vm->anon_shmem_bytes = some_total(seed);
	vm->swap_bytes = some_total(seed);
	vm->oom_kills = some_total(seed);
	vm->hugetlb_count = random_pick(seed, REPORT_HUGEPAGE_SIZES + 1);
	for (size_t i = 0; i < vm->hugetlb_count; i++) {
		vm->hugetlb[i].size_bytes = some_total(seed);
		vm->hugetlb[i].used_bytes = some_total(seed);
	}
}

static struct kvm some_kvm(uint64_t *seed)
{
	return (struct kvm){
		.state = (enum kvm_state)random_pick(seed, KVM_STATES),
		.level = (enum kvm_level)random_pick(seed, KVM_LEVEL_RUN + 1),
		.error_number = (int32_t)random_pick(seed, 134),
		.exit_reason = random_pick(seed, 40),
		.latency_us = random_next(seed) >> random_pick(seed, 64),
		.nested = (enum known_bool)random_pick(seed, KNOWN_TRUE + 1),
		.has_tun = random_pick(seed, 2) != 0,
		.has_vhost_net = random_pick(seed, 2) != 0,
		.has_vhost_vsock = random_pick(seed, 2) != 0,
		.has_sev = random_pick(seed, 2) != 0,
	};
}

static void fill_node(struct report *r, uint64_t *seed)
{
	r->cpu = (struct cpu_totals){ (enum source_state)random_pick(seed,
					      SOURCE_ERROR + 1),
		random_pick(seed, 512), random_pick(seed, 512),
		some_total(seed), some_total(seed), some_total(seed),
		some_total(seed), some_total(seed), some_total(seed),
		some_total(seed), some_total(seed) };
	r->memory = (struct memory){ (enum source_state)random_pick(seed,
					     SOURCE_ERROR + 1),
		some_total(seed), some_total(seed), some_total(seed),
		some_total(seed), some_total(seed) };
	r->pressure = some_pressure(seed);
	r->kubepods = some_pressure(seed);
	r->hugepages_count = random_pick(seed, REPORT_HUGEPAGE_SIZES + 1);
	for (size_t i = 0; i < r->hugepages_count; i++) {
		r->hugepages[i] = (struct hugepages){ some_total(seed),
			some_total(seed), some_total(seed), some_total(seed) };
	}
	r->numa_hugepages_count = random_pick(seed, REPORT_NUMA_HUGEPAGES + 1);
	for (size_t i = 0; i < r->numa_hugepages_count; i++) {
		r->numa_hugepages[i] = (struct numa_hugepages){ some_total(
									seed),
			some_total(seed), some_total(seed), some_total(seed) };
	}
	r->irq = some_psi(seed);
	r->own = (struct own_cost){ some_total(seed), some_total(seed),
		some_total(seed) };
	r->vms_skipped = some_total(seed);
	r->load1 = some_share(seed);
	r->load5 = some_share(seed);
	r->load15 = some_share(seed);
	r->cgroup_mode = (enum cgroup_mode)random_pick(seed, CGROUP_V1 + 1);
	r->kvm = some_kvm(seed);
}

static void fill_report(struct report *r, uint64_t *seed)
{
	report_init(r);
	r->seq = 1 + (random_next(seed) >> (2 + random_pick(seed, 60)));
	if (random_pick(seed, 2) == 0) {
		memcpy(r->boot_id, "8ae4f5b2-3b1a-4c52-9f8f-0d1e2a3b4c5d", 37);
	}
	r->monotonic_us =
		1 + (random_next(seed) >> (4 + random_pick(seed, 60)));
	r->wall_us = some_total(seed);
	r->interval_ms = 10 + random_pick(seed, 3600000 - 10 + 1);
	r->dropped = random_next(seed) >> (1 + random_pick(seed, 63));
	fill_node(r, seed);
	r->vm_count = random_pick(seed, ROUND_VMS_MAX);
	r->vms = xcalloc(r->vm_count, sizeof(*r->vms));
	for (size_t i = 0; i < r->vm_count; i++) {
		fill_vm(&r->vms[i], seed);
	}
}

/* ---- there and back ---- */

#define SAME(member) assert_true(a->member == b->member)

static void same_number(double a, double b)
{
	assert_true(isnan(a) ? isnan(b) : a == b);
}

static void same_psi(const struct psi *a, const struct psi *b)
{
	SAME(state);
	SAME(some_us);
	SAME(full_us);
}

static void same_pressure(const struct pressure *a, const struct pressure *b)
{
	same_psi(&a->cpu, &b->cpu);
	same_psi(&a->memory, &b->memory);
	same_psi(&a->io, &b->io);
}

static void same_vm(const struct vm_pod *a, const struct vm_pod *b)
{
	assert_string_equal(a->pod_uid, b->pod_uid);
	SAME(cgroup_inode);
	SAME(cpu_usage_us);
	SAME(nr_throttled);
	SAME(throttled_us);
	same_pressure(&a->pressure, &b->pressure);
	SAME(memory_current_bytes);
	SAME(working_set_bytes);
	SAME(anon_shmem_bytes);
	SAME(swap_bytes);
	SAME(oom_kills);
	SAME(hugetlb_count);
	for (size_t i = 0; i < a->hugetlb_count; i++) {
		SAME(hugetlb[i].size_bytes);
		SAME(hugetlb[i].used_bytes);
	}
}

static void same_kvm(const struct kvm *a, const struct kvm *b)
{
	SAME(state);
	SAME(level);
	SAME(error_number);
	SAME(exit_reason);
	SAME(latency_us);
	SAME(nested);
	SAME(has_tun);
	SAME(has_vhost_net);
	SAME(has_vhost_vsock);
	SAME(has_sev);
}

static void same_node(const struct report *a, const struct report *b)
{
	SAME(cpu.state);
	SAME(cpu.online);
	SAME(cpu.possible);
	SAME(cpu.user_us);
	SAME(cpu.nice_us);
	SAME(cpu.system_us);
	SAME(cpu.idle_us);
	SAME(cpu.iowait_us);
	SAME(cpu.irq_us);
	SAME(cpu.softirq_us);
	SAME(cpu.steal_us);
	SAME(memory.state);
	SAME(memory.total_bytes);
	SAME(memory.available_bytes);
	SAME(memory.swap_total_bytes);
	SAME(memory.swap_free_bytes);
	SAME(memory.ksm_saved_bytes);
	same_pressure(&a->pressure, &b->pressure);
	same_pressure(&a->kubepods, &b->kubepods);
	SAME(hugepages_count);
	for (size_t i = 0; i < a->hugepages_count; i++) {
		SAME(hugepages[i].size_bytes);
		SAME(hugepages[i].total);
		SAME(hugepages[i].free);
		SAME(hugepages[i].reserved);
	}
	SAME(numa_hugepages_count);
	for (size_t i = 0; i < a->numa_hugepages_count; i++) {
		SAME(numa_hugepages[i].numa_node);
		SAME(numa_hugepages[i].size_bytes);
		SAME(numa_hugepages[i].total);
		SAME(numa_hugepages[i].free);
	}
	same_psi(&a->irq, &b->irq);
	SAME(own.cpu_us);
	SAME(own.rss_bytes);
	SAME(own.spool_bytes);
	SAME(vms_skipped);
}

static void same_report(const struct report *a, const struct report *b)
{
	SAME(seq);
	assert_string_equal(a->boot_id, b->boot_id);
	SAME(monotonic_us);
	SAME(wall_us);
	SAME(interval_ms);
	SAME(dropped);
	same_node(a, b);
	same_number(a->load1, b->load1);
	same_number(a->load5, b->load5);
	same_number(a->load15, b->load15);
	SAME(cgroup_mode);
	same_kvm(&a->kvm, &b->kvm);
	SAME(vm_count);
	for (size_t i = 0; i < a->vm_count; i++) {
		same_vm(&a->vms[i], &b->vms[i]);
	}
}

static void any_report_comes_back_as_it_was(void **state)
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
		same_report(&sent, &got);
		report_fini(&sent);
		report_fini(&got);
	}
}

/* What no agent sent is not known, and never 0. */
static void what_is_not_sent_is_not_known(void **state)
{
	Plimsoll__Report wire = PLIMSOLL__REPORT__INIT;
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
	same_report(&want, &got);
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

static void broken_bytes_are_refused_or_make_sense(void **state)
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

static void no_bytes_are_no_report(void **state)
{
	struct report got = { .seq = 99 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(wire_unpack_report(&got, (const uint8_t *)"", 0, &err),
		-EBADMSG);
	assert_string_equal(err.text, "a report has no usable seq");
	assert_int_equal(
		wire_unpack_report(&got, (const uint8_t *)"\xff\xff", 2, &err),
		-EBADMSG);
	assert_string_equal(err.text, "the bytes are no report");
	assert_int_equal(got.seq, 99);
}

static void a_report_that_does_not_fit_shows_as_overflow(void **state)
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
		cmocka_unit_test(any_report_comes_back_as_it_was),
		cmocka_unit_test(what_is_not_sent_is_not_known),
		cmocka_unit_test(broken_bytes_are_refused_or_make_sense),
		cmocka_unit_test(no_bytes_are_no_report),
		cmocka_unit_test(a_report_that_does_not_fit_shows_as_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
