/* The values of each field of a report that are refused, and the limits. */
#include "proto/wire.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <math.h>
#include <plimsoll.pb-c.h>
#include <stdlib.h>
#include <string.h>

/* A good report as generated code sees it, with all of its parts. */
struct parts {
	Plimsoll__Report report;
	Plimsoll__CpuTotals cpu;
	Plimsoll__Memory memory;
	Plimsoll__Kvm kvm;
	Plimsoll__Psi psi, irq;
	Plimsoll__Pressure pressure;
	Plimsoll__HugePages huge;
	Plimsoll__HugePages *huges[REPORT_HUGEPAGE_SIZES + 1];
	Plimsoll__NumaHugePages numa;
	Plimsoll__NumaHugePages *numas[REPORT_NUMA_HUGEPAGES + 1];
	Plimsoll__HugetlbUse hugetlb;
	Plimsoll__HugetlbUse *hugetlbs[REPORT_HUGEPAGE_SIZES + 1];
	Plimsoll__VmPod vm;
	Plimsoll__VmPod *vms[REPORT_VMS_MAX + 1];
	char uid[64];
};

static void link_parts(struct parts *p)
{
	for (size_t i = 0; i < count_of(p->huges); i++) {
		p->huges[i] = &p->huge;
		p->hugetlbs[i] = &p->hugetlb;
	}
	for (size_t i = 0; i < count_of(p->numas); i++) {
		p->numas[i] = &p->numa;
	}
	for (size_t i = 0; i < count_of(p->vms); i++) {
		p->vms[i] = &p->vm;
	}
	p->pressure.cpu = &p->psi;
	p->vm.pod_uid = p->uid;
	p->vm.pressure = &p->pressure;
	p->vm.n_hugetlb = REPORT_HUGEPAGE_SIZES;
	p->vm.hugetlb = p->hugetlbs;
	p->report.boot_id = p->uid;
	p->report.cpu = &p->cpu;
	p->report.memory = &p->memory;
	p->report.kvm = &p->kvm;
	p->report.pressure = &p->pressure;
	p->report.kubepods_pressure = &p->pressure;
	p->report.n_hugepages = REPORT_HUGEPAGE_SIZES;
	p->report.hugepages = p->huges;
	p->report.n_numa_hugepages = REPORT_NUMA_HUGEPAGES;
	p->report.numa_hugepages = p->numas;
	p->report.irq_pressure = &p->irq;
	p->report.n_vms = 1;
	p->report.vms = p->vms;
}

static void make_parts(struct parts *p)
{
	*p = (struct parts){ .uid = "8ae4f5b2-3b1a-4c52-9f8f-0d1e2a3b4c5d" };
	plimsoll__report__init(&p->report);
	plimsoll__cpu_totals__init(&p->cpu);
	plimsoll__memory__init(&p->memory);
	plimsoll__kvm__init(&p->kvm);
	plimsoll__psi__init(&p->psi);
	plimsoll__psi__init(&p->irq);
	plimsoll__pressure__init(&p->pressure);
	plimsoll__huge_pages__init(&p->huge);
	plimsoll__hugetlb_use__init(&p->hugetlb);
	plimsoll__numa_huge_pages__init(&p->numa);
	plimsoll__vm_pod__init(&p->vm);
	link_parts(p);
	p->report.has_seq = true;
	p->report.seq = 1;
	p->report.has_monotonic_us = true;
	p->report.monotonic_us = 5;
	p->report.has_interval_ms = true;
	p->report.interval_ms = 2000;
	p->report.has_load1 = true;
	p->report.has_load5 = true;
	p->report.has_load15 = true;
	p->report.has_cgroup_mode = true;
	p->cpu.has_state = true;
	p->memory.has_state = true;
	p->kvm.has_state = true;
	p->kvm.has_level = true;
	p->psi.has_state = true;
}

/* Unpacks the packed parts. */
static int send_parts(struct error *err, const struct parts *p)
{
	size_t size = plimsoll__report__get_packed_size(&p->report);
	scoped_free uint8_t *bytes = xcalloc(size, 1);
	struct report got;
	int r;

	assert_int_equal(plimsoll__report__pack(&p->report, bytes), size);
	r = wire_unpack_report(&got, bytes, size, err);
	if (r == 0) {
		report_fini(&got);
	}
	return r;
}

/* A way to make the parts wrong. */
#define SPOIL(name, how)                                                       \
	static void name(struct parts *p)                                      \
	{                                                                      \
		how;                                                           \
	}
SPOIL(no_seq, p->report.has_seq = false)
SPOIL(seq_zero, p->report.seq = 0)
SPOIL(seq_huge, p->report.seq = INT64_MAX)
SPOIL(no_time, p->report.has_monotonic_us = false)
SPOIL(time_zero, p->report.monotonic_us = 0)
SPOIL(time_huge, p->report.monotonic_us = WIRE_TIME_MAX_US + 1)
SPOIL(no_interval, p->report.has_interval_ms = false)
SPOIL(interval_short, p->report.interval_ms = 9)
SPOIL(interval_long, p->report.interval_ms = 3600001)
SPOIL(cpu_state, p->cpu.state = (Plimsoll__SourceState)5)
SPOIL(memory_state, p->memory.state = (Plimsoll__SourceState)-1)
SPOIL(psi_state, p->psi.state = (Plimsoll__SourceState)99)
SPOIL(cgroup_mode, p->report.cgroup_mode = (Plimsoll__CgroupMode)4)
SPOIL(kvm_state, p->kvm.state = (Plimsoll__KvmState)KVM_STATES)
SPOIL(kvm_level, p->kvm.level = (Plimsoll__KvmLevel)5)
SPOIL(load_nan, p->report.load1 = NAN)
SPOIL(load_infinite, p->report.load5 = INFINITY)
SPOIL(load_negative, p->report.load15 = -0.5)
SPOIL(boot_id_blank, p->report.boot_id = p->uid; p->uid[3] = ' ')
SPOIL(boot_id_long, memset(p->uid, 'a', REPORT_UID_MAX))
SPOIL(uid_missing, p->report.boot_id = NULL; p->vm.pod_uid = NULL)
SPOIL(uid_empty, p->report.boot_id = NULL; p->uid[0] = '\0')
SPOIL(uid_long, p->report.boot_id = NULL; memset(p->uid, 'a', REPORT_UID_MAX))
SPOIL(uid_control, p->report.boot_id = NULL; p->uid[0] = '\n')
SPOIL(uid_not_ascii, p->report.boot_id = NULL; p->uid[0] = '\xc3')
SPOIL(many_vms, p->report.n_vms = REPORT_VMS_MAX + 1)
SPOIL(many_hugepages, p->report.n_hugepages = REPORT_HUGEPAGE_SIZES + 1)
SPOIL(many_numa_hugepages,
	p->report.n_numa_hugepages = REPORT_NUMA_HUGEPAGES + 1)
SPOIL(unknown_irq_state, p->irq.has_state = true;
	p->irq.state = (Plimsoll__SourceState)9)
SPOIL(many_hugetlb, p->vm.n_hugetlb = REPORT_HUGEPAGE_SIZES + 1)

static const struct {
	void (*spoil)(struct parts *p);
	const char *reason;
} refusals[] = {
	{ no_seq, "a report has no valid seq" },
	{ seq_zero, "a report has no valid seq" },
	{ seq_huge, "a report has no valid seq" },
	{ no_time, "a report has no valid time" },
	{ time_zero, "a report has no valid time" },
	{ time_huge, "a report has no valid time" },
	{ no_interval, "interval_ms is 0" },
	{ interval_short, "interval_ms is 9" },
	{ interval_long, "interval_ms is 3600001" },
	{ cpu_state, "cpu_totals.state has the unknown value 5" },
	{ memory_state, "memory.state has the unknown value -1" },
	{ psi_state, "psi.state has the unknown value 99" },
	{ cgroup_mode, "report.cgroup_mode has the unknown value 4" },
	{ kvm_state, "kvm.state has the unknown value 6" },
	{ kvm_level, "kvm.level has the unknown value 5" },
	{ load_nan, "report.load1 is negative or not finite" },
	{ load_infinite, "report.load5 is negative or not finite" },
	{ load_negative, "report.load15 is negative or not finite" },
	{ boot_id_blank, "boot_id holds a byte that is not printable" },
	{ boot_id_long, "boot_id has 40 bytes, not 1 to 39" },
	{ uid_missing, "pod_uid has 0 bytes, not 1 to 39" },
	{ uid_empty, "pod_uid has 0 bytes, not 1 to 39" },
	{ uid_long, "pod_uid has 40 bytes, not 1 to 39" },
	{ uid_control, "pod_uid holds a byte that is not printable" },
	{ uid_not_ascii, "pod_uid holds a byte that is not printable" },
	{ many_vms, "2049 VM pods in a report are too many" },
	{ many_hugepages, "5 sizes of huge pages are too many" },
	{ many_hugetlb, "5 sizes of huge pages are too many" },
	{ many_numa_hugepages,
		"33 sizes of huge pages on NUMA nodes are too many" },
	{ unknown_irq_state, "psi.state has the unknown value 9" },
};

static void refuses_impossible_values_with_a_reason(void **state)
{
	scoped_free struct parts *p = xcalloc(1, sizeof(*p));

	(void)state;
	for (size_t i = 0; i < count_of(refusals); i++) {
		struct error err = { 0 };

		make_parts(p);
		refusals[i].spoil(p);
		assert_int_equal(send_parts(&err, p), -EBADMSG);
		assert_string_equal(err.text, refusals[i].reason);
	}
}

static void accepts_the_limits_themselves(void **state)
{
	scoped_free struct parts *p = xcalloc(1, sizeof(*p));

	(void)state;
	make_parts(p);
	p->report.n_vms = REPORT_VMS_MAX;
	p->report.seq = INT64_MAX - 1;
	p->report.monotonic_us = WIRE_TIME_MAX_US;
	p->report.interval_ms = 3600000;
	memset(p->uid, '~', REPORT_UID_MAX - 1);
	p->uid[REPORT_UID_MAX - 1] = '\0';
	assert_int_equal(send_parts(NULL, p), 0);
	make_parts(p);
	p->report.interval_ms = 10;
	p->uid[0] = '!';
	p->uid[1] = '\0';
	assert_int_equal(send_parts(NULL, p), 0);
}

/* A newer agent may send fields that an older reader does not know. */
static void skips_unknown_fields_in_every_message(void **state)
{
	uint8_t payload[] = { 0x07, 0, 0, 0 };
	ProtobufCMessageUnknownField fields[] = {
		{ 1000, PROTOBUF_C_WIRE_TYPE_VARINT, 1, payload },
		{ 1001, PROTOBUF_C_WIRE_TYPE_32BIT, 4, payload },
		{ 1002, PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED, 1,
			(uint8_t[]){ 0 } },
	};
	scoped_free struct parts *p = xcalloc(1, sizeof(*p));

	(void)state;
	make_parts(p);
	ProtobufCMessage *const messages[] = { &p->report.base, &p->cpu.base,
		&p->memory.base, &p->kvm.base, &p->psi.base, &p->pressure.base,
		&p->huge.base, &p->hugetlb.base, &p->vm.base };

	for (size_t i = 0; i < count_of(messages); i++) {
		messages[i]->n_unknown_fields = count_of(fields);
		messages[i]->unknown_fields = fields;
	}
	assert_int_equal(send_parts(NULL, p), 0);
	p->psi.state = (Plimsoll__SourceState)99;
	assert_int_equal(send_parts(NULL, p), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_impossible_values_with_a_reason),
		cmocka_unit_test(accepts_the_limits_themselves),
		cmocka_unit_test(skips_unknown_fields_in_every_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
