#include "proto/wire.h"

#include "lib/memory.h"
#include "proto/wire_fields.h"

#include <errno.h>
#include <string.h>

enum { INTERVAL_MIN_MS = 10, INTERVAL_MAX_MS = 3600000 };

static const struct wire_field psi_fields[] = { PSI_FIELDS(WIRE_ROW,
	(Plimsoll__Psi, psi)) };

static const struct wire_field cpu_fields[] = { CPU_FIELDS(WIRE_ROW,
	(Plimsoll__CpuTotals, cpu_totals)) };

static const struct wire_field memory_fields[] = { MEMORY_FIELDS(WIRE_ROW,
	(Plimsoll__Memory, memory)) };

static const struct wire_field kvm_fields[] = { KVM_FIELDS(WIRE_ROW,
	(Plimsoll__Kvm, kvm)) KVM_DEVICES(WIRE_ROW, (Plimsoll__Kvm, kvm)) };

static const struct wire_field vm_fields[] = {
	WIRE_FIELD(Plimsoll__VmPod, vm_pod, U64, cgroup_inode),
	VM_POD_FIELDS(WIRE_ROW, (Plimsoll__VmPod, vm_pod))
};

static const struct wire_field hugetlb_fields[] = { HUGETLB_USE_FIELDS(WIRE_ROW,
	(Plimsoll__HugetlbUse, hugetlb_use)) };

static const struct wire_field numa_fields[] = { NUMA_HUGEPAGES_FIELDS(WIRE_ROW,
	(Plimsoll__NumaHugePages, numa_hugepages)) };

static const struct wire_field own_fields[] = { OWN_COST_FIELDS(WIRE_ROW,
	(Plimsoll__OwnCost, own_cost)) };

static const struct wire_field report_fields[] = { REPORT_OWN_FIELDS(WIRE_ROW,
	(Plimsoll__Report, report)) };

/* ---- ours to wire ---- */

struct wire_pressure {
	Plimsoll__Pressure pressure;
	Plimsoll__Psi cpu, memory, io;
};

static Plimsoll__Psi *put_psi(Plimsoll__Psi *wire, const struct psi *ours)
{
	if (ours->state == SOURCE_UNKNOWN) {
		return NULL;
	}
	plimsoll__psi__init(wire);
	wire_put_fields(wire, ours, WIRE_TABLE(psi_fields));
	return wire;
}

/* NULL, so that nothing is sent, if all three states are unknown. */
static Plimsoll__Pressure *put_pressure(struct wire_pressure *wire,
	const struct pressure *ours)
{
	Plimsoll__Pressure *out = &wire->pressure;

	plimsoll__pressure__init(out);
	out->cpu = put_psi(&wire->cpu, &ours->cpu);
	out->memory = put_psi(&wire->memory, &ours->memory);
	out->io = put_psi(&wire->io, &ours->io);
	return out->cpu != NULL || out->memory != NULL || out->io != NULL
		? out
		: NULL;
}

struct wire_vm {
	Plimsoll__VmPod vm;
	struct wire_pressure pressure;
	Plimsoll__HugetlbUse hugetlb[REPORT_HUGEPAGE_SIZES];
	Plimsoll__HugetlbUse *hugetlb_pointers[REPORT_HUGEPAGE_SIZES];
	char uid[REPORT_UID_MAX];
};

static void put_vm(struct wire_vm *wire, const struct vm_pod *ours)
{
	plimsoll__vm_pod__init(&wire->vm);
	memcpy(wire->uid, ours->pod_uid, sizeof(wire->uid));
	wire->vm.pod_uid = wire->uid;
	wire_put_fields(&wire->vm, ours, WIRE_TABLE(vm_fields));
	wire->vm.pressure = put_pressure(&wire->pressure, &ours->pressure);
	for (size_t i = 0; i < ours->hugetlb_count; i++) {
		plimsoll__hugetlb_use__init(&wire->hugetlb[i]);
		wire_put_fields(&wire->hugetlb[i], &ours->hugetlb[i],
			WIRE_TABLE(hugetlb_fields));
		wire->hugetlb_pointers[i] = &wire->hugetlb[i];
	}
	wire->vm.n_hugetlb = ours->hugetlb_count;
	wire->vm.hugetlb = wire->hugetlb_pointers;
}

struct wire_numa {
	Plimsoll__NumaHugePages items[REPORT_NUMA_HUGEPAGES];
	Plimsoll__NumaHugePages *pointers[REPORT_NUMA_HUGEPAGES];
};

static void put_numa(Plimsoll__Report *wire, struct wire_numa *numa,
	const struct report *ours)
{
	for (size_t i = 0; i < ours->numa_hugepages_count; i++) {
		plimsoll__numa_huge_pages__init(&numa->items[i]);
		wire_put_fields(&numa->items[i], &ours->numa_hugepages[i],
			WIRE_TABLE(numa_fields));
		numa->pointers[i] = &numa->items[i];
	}
	wire->n_numa_hugepages = ours->numa_hugepages_count;
	wire->numa_hugepages = numa->pointers;
}

void wire_pack_report(struct buffer *out, const struct report *report)
{
	Plimsoll__Report wire = PLIMSOLL__REPORT__INIT;
	struct wire_pressure pressure, kubepods;
	struct wire_hugepages huge;
	struct wire_numa numa;
	Plimsoll__Psi irq;
	Plimsoll__OwnCost own;
	Plimsoll__CpuTotals cpu;
	Plimsoll__Memory memory;
	Plimsoll__Kvm kvm;
	scoped_free struct wire_vm *vms =
		xcalloc(report->vm_count, sizeof(*vms));
	scoped_free Plimsoll__VmPod **pointers =
		xcalloc(report->vm_count, sizeof(Plimsoll__VmPod *));
	char boot_id[REPORT_UID_MAX];

	wire_put_fields(&wire, report, WIRE_TABLE(report_fields));
	memcpy(boot_id, report->boot_id, sizeof(boot_id));
	wire.boot_id = boot_id[0] == '\0' ? NULL : boot_id;
	plimsoll__cpu_totals__init(&cpu);
	wire_put_fields(&cpu, &report->cpu, WIRE_TABLE(cpu_fields));
	wire.cpu = &cpu;
	wire.pressure = put_pressure(&pressure, &report->pressure);
	wire.kubepods_pressure = put_pressure(&kubepods, &report->kubepods);
	plimsoll__memory__init(&memory);
	wire_put_fields(&memory, &report->memory, WIRE_TABLE(memory_fields));
	wire.memory = &memory;
	wire_hugepages_put(&huge, report->hugepages, report->hugepages_count);
	wire.n_hugepages = report->hugepages_count;
	wire.hugepages = huge.pointers;
	put_numa(&wire, &numa, report);
	wire.irq_pressure = put_psi(&irq, &report->irq);
	plimsoll__own_cost__init(&own);
	wire_put_fields(&own, &report->own, WIRE_TABLE(own_fields));
	wire.own = &own;
	plimsoll__kvm__init(&kvm);
	wire_put_fields(&kvm, &report->kvm, WIRE_TABLE(kvm_fields));
	wire.kvm = &kvm;
	for (size_t i = 0; i < report->vm_count; i++) {
		put_vm(&vms[i], &report->vms[i]);
		pointers[i] = &vms[i].vm;
	}
	wire.n_vms = report->vm_count;
	wire.vms = pointers;
	wire_append(out, &wire.base);
}

/* ---- wire to ours ---- */

static int get_psi(struct psi *ours, const Plimsoll__Psi *wire,
	struct error *err)
{
	return wire == NULL
		? 0
		: wire_get_fields(ours, wire, WIRE_TABLE(psi_fields), err);
}

static int get_pressure(struct pressure *ours, const Plimsoll__Pressure *wire,
	struct error *err)
{
	int r;

	if (wire == NULL) {
		return 0;
	}
	r = get_psi(&ours->cpu, wire->cpu, err);
	if (r == 0) {
		r = get_psi(&ours->memory, wire->memory, err);
	}
	return r == 0 ? get_psi(&ours->io, wire->io, err) : r;
}

static int get_numa(struct report *ours, const Plimsoll__Report *wire,
	struct error *err)
{
	int r = 0;

	if (wire->n_numa_hugepages > REPORT_NUMA_HUGEPAGES) {
		return error_set(err, -EBADMSG,
			"%zu sizes of huge pages on NUMA nodes are too many",
			wire->n_numa_hugepages);
	}
	for (size_t i = 0; r == 0 && i < wire->n_numa_hugepages; i++) {
		r = wire_get_fields(&ours->numa_hugepages[i],
			wire->numa_hugepages[i], WIRE_TABLE(numa_fields), err);
	}
	ours->numa_hugepages_count = wire->n_numa_hugepages;
	return r;
}

static int get_hugetlb(struct vm_pod *ours, const Plimsoll__VmPod *wire,
	struct error *err)
{
	int r = 0;

	if (wire->n_hugetlb > REPORT_HUGEPAGE_SIZES) {
		return error_set(err, -EBADMSG,
			"%zu sizes of huge pages are too many",
			wire->n_hugetlb);
	}
	for (size_t i = 0; r == 0 && i < wire->n_hugetlb; i++) {
		r = wire_get_fields(&ours->hugetlb[i], wire->hugetlb[i],
			WIRE_TABLE(hugetlb_fields), err);
	}
	ours->hugetlb_count = wire->n_hugetlb;
	return r;
}

static int get_vm(struct vm_pod *ours, const Plimsoll__VmPod *wire,
	struct error *err)
{
	int r;

	vm_pod_init(ours);
	r = wire_get_name(ours->pod_uid, sizeof(ours->pod_uid), wire->pod_uid,
		"pod_uid", err);
	if (r == 0) {
		r = wire_get_fields(ours, wire, WIRE_TABLE(vm_fields), err);
	}
	if (r == 0) {
		r = get_hugetlb(ours, wire, err);
	}
	return r == 0 ? get_pressure(&ours->pressure, wire->pressure, err) : r;
}

static int get_vms(struct report *ours, const Plimsoll__Report *wire,
	struct error *err)
{
	int r = 0;

	if (wire->n_vms > REPORT_VMS_MAX) {
		return error_set(err, -EBADMSG,
			"%zu VM pods in a report are too many", wire->n_vms);
	}
	ours->vms = wire->n_vms == 0 ? NULL
				     : xcalloc(wire->n_vms, sizeof(*ours->vms));
	ours->vm_count = wire->n_vms;
	for (size_t i = 0; r == 0 && i < wire->n_vms; i++) {
		r = get_vm(&ours->vms[i], wire->vms[i], err);
	}
	return r;
}

/* The structs that are single in a report. */
static int get_structs(struct report *ours, const Plimsoll__Report *wire,
	struct error *err)
{
	int r = 0;

	if (wire->cpu != NULL) {
		r = wire_get_fields(&ours->cpu, wire->cpu,
			WIRE_TABLE(cpu_fields), err);
	}
	if (r == 0 && wire->memory != NULL) {
		r = wire_get_fields(&ours->memory, wire->memory,
			WIRE_TABLE(memory_fields), err);
	}
	if (r == 0 && wire->own != NULL) {
		r = wire_get_fields(&ours->own, wire->own,
			WIRE_TABLE(own_fields), err);
	}
	if (r == 0 && wire->kvm != NULL) {
		r = wire_get_fields(&ours->kvm, wire->kvm,
			WIRE_TABLE(kvm_fields), err);
	}
	return r;
}

/* Without these a report has no key and no age. */
static int check_identity(struct report *ours, const Plimsoll__Report *wire,
	struct error *err)
{
	if (ours->seq == 0 || ours->seq >= INT64_MAX) {
		return error_set(err, -EBADMSG, "a report has no valid seq");
	}
	if (ours->monotonic_us == 0 || ours->monotonic_us > WIRE_TIME_MAX_US) {
		return error_set(err, -EBADMSG, "a report has no valid time");
	}
	if (ours->interval_ms < INTERVAL_MIN_MS ||
		ours->interval_ms > INTERVAL_MAX_MS) {
		return error_set(err, -EBADMSG, "interval_ms is %u",
			ours->interval_ms);
	}
	ours->dropped = ours->dropped == REPORT_UNKNOWN ? 0 : ours->dropped;
	return wire->boot_id == NULL
		? 0
		: wire_get_name(ours->boot_id, sizeof(ours->boot_id),
			  wire->boot_id, "boot_id", err);
}

static int get_report(struct report *out, const Plimsoll__Report *wire,
	struct error *err)
{
	struct report report;
	int r;

	report_init(&report);
	r = wire_get_fields(&report, wire, WIRE_TABLE(report_fields), err);
	if (r == 0) {
		r = check_identity(&report, wire, err);
	}
	if (r == 0) {
		r = get_structs(&report, wire, err);
	}
	if (r == 0) {
		r = get_pressure(&report.pressure, wire->pressure, err);
	}
	if (r == 0) {
		r = get_pressure(&report.kubepods, wire->kubepods_pressure,
			err);
	}
	if (r == 0) {
		r = get_psi(&report.irq, wire->irq_pressure, err);
	}
	if (r == 0) {
		r = wire_hugepages_get(report.hugepages,
			&report.hugepages_count, wire->hugepages,
			wire->n_hugepages, err);
	}
	if (r == 0) {
		r = get_numa(&report, wire, err);
	}
	if (r == 0) {
		r = get_vms(&report, wire, err);
	}
	if (r < 0) {
		report_fini(&report);
		return r;
	}
	*out = report;
	return 0;
}

int wire_report_unpack(struct report *out, const struct packed_report *packed,
	ProtobufCAllocator *allocator, struct error *err)
{
	const Plimsoll__Report *wire =
		plimsoll__report__unpack(allocator, packed->len, packed->bytes);

	return wire == NULL
		? error_set(err, -EBADMSG, "cannot unpack the report")
		: get_report(out, wire, err);
}

int wire_unpack_report(struct report *out, const uint8_t *bytes, size_t len,
	struct error *err)
{
	struct wire_budget budget;
	ProtobufCAllocator *allocator = wire_budget_init(&budget);
	int r = wire_report_unpack(out,
		&(const struct packed_report){ bytes, len }, allocator, err);

	wire_budget_fini(&budget);
	return r;
}
