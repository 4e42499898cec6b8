#include "aggregator/codec/report_schema.h"

#include "lib/memory.h"

#include <string.h>

_Static_assert(sizeof(enum source_state) == 4 && sizeof(enum kvm_state) == 4 &&
		sizeof(size_t) == 8,
	"fields are read by these sizes");

static const uint64_t top_bit = UINT64_C(1) << 63;

#define U64(of, member, part)                                                  \
	{                                                                      \
		offsetof(struct of, member), FIELD_U64, UINT64_MAX, part       \
	}
#define COUNT(of, member, most, part)                                          \
	{                                                                      \
		offsetof(struct of, member), FIELD_U64, most, part             \
	}
#define U32(of, member, most, part)                                            \
	{                                                                      \
		offsetof(struct of, member), FIELD_U32, most, part             \
	}
#define BOOL(member)                                                           \
	{                                                                      \
		offsetof(struct report, member), FIELD_BOOL, 1, FIELDS_REST    \
	}
#define DOUBLE(member)                                                         \
	{                                                                      \
		offsetof(struct report, member), FIELD_DOUBLE, UINT64_MAX,     \
			FIELDS_REST                                            \
	}
#define PSI(of, member, part, full_part)                                       \
	U32(of, member.state, SOURCE_ERROR, part),                             \
		U64(of, member.some_us, part),                                 \
		U64(of, member.full_us, full_part)

static const struct field report[] = {
	U64(report, seq, FIELDS_REST),
	U64(report, monotonic_us, 0),
	{ offsetof(struct report, wall_us), FIELD_CLOCK, UINT64_MAX,
		FIELDS_REST },
	U32(report, interval_ms, UINT32_MAX, 0),
	U32(report, cpu.state, SOURCE_ERROR, FIELDS_CPU),
	U32(report, cpu.online, UINT32_MAX, FIELDS_CPU),
	U32(report, cpu.possible, UINT32_MAX, FIELDS_REST),
	U64(report, cpu.user_us, FIELDS_CPU),
	U64(report, cpu.nice_us, FIELDS_CPU),
	U64(report, cpu.system_us, FIELDS_CPU),
	U64(report, cpu.idle_us, FIELDS_REST),
	U64(report, cpu.iowait_us, FIELDS_REST),
	U64(report, cpu.irq_us, FIELDS_CPU),
	U64(report, cpu.softirq_us, FIELDS_CPU),
	U64(report, cpu.steal_us, FIELDS_REST),
	PSI(report, pressure.cpu, FIELDS_PRESSURE, FIELDS_REST),
	PSI(report, pressure.memory, FIELDS_PRESSURE, FIELDS_FULL),
	PSI(report, pressure.io, FIELDS_PRESSURE, FIELDS_FULL),
	PSI(report, kubepods.cpu, FIELDS_REST, FIELDS_REST),
	PSI(report, kubepods.memory, FIELDS_REST, FIELDS_REST),
	PSI(report, kubepods.io, FIELDS_REST, FIELDS_REST),
	PSI(report, irq, FIELDS_REST, FIELDS_REST),
	U32(report, memory.state, SOURCE_ERROR, FIELDS_MEMORY),
	U64(report, memory.total_bytes, FIELDS_MEMORY),
	U64(report, memory.available_bytes, FIELDS_MEMORY),
	U64(report, memory.swap_total_bytes, FIELDS_REST),
	U64(report, memory.swap_free_bytes, FIELDS_REST),
	U64(report, memory.ksm_saved_bytes, FIELDS_REST),
	DOUBLE(load1),
	DOUBLE(load5),
	DOUBLE(load15),
	U32(report, cgroup_mode, CGROUP_V1, FIELDS_MEMORY),
	U32(report, kvm.state, KVM_STATES - 1, FIELDS_REST),
	U32(report, kvm.level, KVM_LEVEL_RUN, FIELDS_REST),
	U32(report, kvm.error_number, UINT32_MAX, FIELDS_REST),
	U32(report, kvm.exit_reason, UINT32_MAX, FIELDS_REST),
	U64(report, kvm.latency_us, FIELDS_REST),
	U32(report, kvm.nested, KNOWN_TRUE, FIELDS_REST),
	BOOL(kvm.has_tun),
	BOOL(kvm.has_vhost_net),
	BOOL(kvm.has_vhost_vsock),
	BOOL(kvm.has_sev),
	U64(report, vms_skipped, FIELDS_REST),
	U64(report, dropped, FIELDS_REST),
	U64(report, own.cpu_us, FIELDS_REST),
	U64(report, own.rss_bytes, FIELDS_REST),
	U64(report, own.spool_bytes, FIELDS_REST),
	COUNT(report, hugepages_count, REPORT_HUGEPAGE_SIZES, FIELDS_REST),
	COUNT(report, numa_hugepages_count, REPORT_NUMA_HUGEPAGES, FIELDS_REST),
};

static const struct field hugepages[] = {
	U64(hugepages, size_bytes, FIELDS_REST),
	U64(hugepages, total, FIELDS_REST),
	U64(hugepages, free, FIELDS_REST),
	U64(hugepages, reserved, FIELDS_REST),
};

static const struct field numa[] = {
	U64(numa_hugepages, numa_node, FIELDS_REST),
	U64(numa_hugepages, size_bytes, FIELDS_REST),
	U64(numa_hugepages, total, FIELDS_REST),
	U64(numa_hugepages, free, FIELDS_REST),
};

static const struct field vm[] = {
	U64(vm_pod, cpu_usage_us, FIELDS_POD_CPU),
	U64(vm_pod, nr_throttled, FIELDS_POD_REST),
	U64(vm_pod, throttled_us, FIELDS_POD_CPU),
	PSI(vm_pod, pressure.cpu, FIELDS_POD_CPU, FIELDS_POD_CPU),
	PSI(vm_pod, pressure.memory, FIELDS_POD_REST, FIELDS_POD_REST),
	PSI(vm_pod, pressure.io, FIELDS_POD_REST, FIELDS_POD_REST),
	U64(vm_pod, memory_current_bytes, FIELDS_POD_REST),
	U64(vm_pod, working_set_bytes, FIELDS_POD_MEMORY),
	U64(vm_pod, anon_shmem_bytes, FIELDS_POD_MEMORY),
	U64(vm_pod, swap_bytes, FIELDS_POD_REST),
	U64(vm_pod, oom_kills, FIELDS_POD_REST),
	COUNT(vm_pod, hugetlb_count, REPORT_HUGEPAGE_SIZES, FIELDS_POD_MEMORY),
};

static const struct field hugetlb[] = {
	U64(hugetlb_use, size_bytes, FIELDS_POD_MEMORY),
	U64(hugetlb_use, used_bytes, FIELDS_POD_MEMORY),
};

const struct fields fields_report = { report, count_of(report) };
const struct fields fields_hugepages = { hugepages, count_of(hugepages) };
const struct fields fields_numa = { numa, count_of(numa) };
const struct fields fields_vm = { vm, count_of(vm) };
const struct fields fields_hugetlb = { hugetlb, count_of(hugetlb) };

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static uint64_t from_double(double value)
{
	/* Up to here hundredths are told apart with bits to spare. */
	const double hundredths_max = 1e13;
	uint64_t k;

	if (isnan(value)) {
		return REPORT_UNKNOWN;
	}
	if (value >= 0 && value < hundredths_max) {
		k = (uint64_t)(value * 100 + 0.5);
		if (bits_of((double)k / 100) == bits_of(value)) {
			return k;
		}
	}
	return top_bit | bits_of(value);
}

static double to_double(uint64_t value)
{
	double out;
	uint64_t bits = value & ~top_bit;

	if (value == REPORT_UNKNOWN) {
		return NAN;
	}
	if ((value & top_bit) == 0) {
		return (double)value / 100;
	}
	/* 0 is a hundredth, so that no bits at all are -0. */
	bits = bits == 0 ? top_bit : bits;
	memcpy(&out, &bits, sizeof(out));
	return out;
}

uint64_t field_get(const struct field *field, const void *base,
	uint64_t monotonic_us)
{
	const char *at = (const char *)base + field->offset;
	uint64_t wide;
	uint32_t narrow;
	double real;

	switch (field->kind) {
	case FIELD_U32:
		memcpy(&narrow, at, sizeof(narrow));
		return narrow;
	case FIELD_BOOL:
		return *(const bool *)at ? 1 : 0;
	case FIELD_DOUBLE:
		memcpy(&real, at, sizeof(real));
		return from_double(real);
	case FIELD_U64:
	case FIELD_CLOCK:
		break;
	}
	memcpy(&wide, at, sizeof(wide));
	return field->kind == FIELD_CLOCK ? wide - monotonic_us : wide;
}

bool field_set(const struct field *field, void *base, uint64_t monotonic_us,
	uint64_t value)
{
	char *at = (char *)base + field->offset;
	uint32_t narrow = (uint32_t)value;
	double real;

	if (value > field->most) {
		return false;
	}
	switch (field->kind) {
	case FIELD_U32:
		memcpy(at, &narrow, sizeof(narrow));
		return true;
	case FIELD_BOOL:
		*(bool *)at = value == 1;
		return true;
	case FIELD_DOUBLE:
		real = to_double(value);
		memcpy(at, &real, sizeof(real));
		return true;
	case FIELD_U64:
	case FIELD_CLOCK:
		break;
	}
	value += field->kind == FIELD_CLOCK ? monotonic_us : 0;
	memcpy(at, &value, sizeof(value));
	return true;
}

bool fields_set(struct fields fields, void *base, const uint64_t *values,
	size_t stride, uint64_t monotonic_us)
{
	for (size_t f = 0; f < fields.count; f++) {
		if (!field_set(&fields.list[f], base, monotonic_us,
			    values[f * stride])) {
			return false;
		}
	}
	return true;
}
