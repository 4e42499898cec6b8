#include "proto/wire.h"

#include "lib/memory.h"
#include "proto/wire_fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { INTERVAL_MIN_MS = 10, INTERVAL_MAX_MS = 3600000 };

static const struct wire_field psi_fields[] = {
	WIRE_FIELD(Plimsoll__Psi, psi, some_us),
	WIRE_FIELD(Plimsoll__Psi, psi, full_us),
};

static const struct wire_field cpu_fields[] = {
	WIRE_FIELD(Plimsoll__CpuTotals, cpu_totals, user_us),
	WIRE_FIELD(Plimsoll__CpuTotals, cpu_totals, nice_us),
	WIRE_FIELD(Plimsoll__CpuTotals, cpu_totals, system_us),
	WIRE_FIELD(Plimsoll__CpuTotals, cpu_totals, idle_us),
	WIRE_FIELD(Plimsoll__CpuTotals, cpu_totals, iowait_us),
	WIRE_FIELD(Plimsoll__CpuTotals, cpu_totals, irq_us),
	WIRE_FIELD(Plimsoll__CpuTotals, cpu_totals, softirq_us),
	WIRE_FIELD(Plimsoll__CpuTotals, cpu_totals, steal_us),
};

static const struct wire_field memory_fields[] = {
	WIRE_FIELD(Plimsoll__Memory, memory, total_bytes),
	WIRE_FIELD(Plimsoll__Memory, memory, available_bytes),
	WIRE_FIELD(Plimsoll__Memory, memory, swap_total_bytes),
	WIRE_FIELD(Plimsoll__Memory, memory, swap_free_bytes),
	WIRE_FIELD(Plimsoll__Memory, memory, ksm_saved_bytes),
};

static const struct wire_field vm_fields[] = {
	WIRE_FIELD(Plimsoll__VmPod, vm_pod, cgroup_inode),
	WIRE_FIELD(Plimsoll__VmPod, vm_pod, cpu_usage_us),
	WIRE_FIELD(Plimsoll__VmPod, vm_pod, nr_throttled),
	WIRE_FIELD(Plimsoll__VmPod, vm_pod, throttled_us),
	WIRE_FIELD(Plimsoll__VmPod, vm_pod, memory_current_bytes),
	WIRE_FIELD(Plimsoll__VmPod, vm_pod, working_set_bytes),
	WIRE_FIELD(Plimsoll__VmPod, vm_pod, anon_shmem_bytes),
	WIRE_FIELD(Plimsoll__VmPod, vm_pod, swap_bytes),
	WIRE_FIELD(Plimsoll__VmPod, vm_pod, oom_kills),
};

static const struct wire_field hugetlb_fields[] = {
	WIRE_FIELD(Plimsoll__HugetlbUse, hugetlb_use, size_bytes),
	WIRE_FIELD(Plimsoll__HugetlbUse, hugetlb_use, used_bytes),
};

static const struct wire_field numa_fields[] = {
	WIRE_FIELD(Plimsoll__NumaHugePages, numa_hugepages, numa_node),
	WIRE_FIELD(Plimsoll__NumaHugePages, numa_hugepages, size_bytes),
	WIRE_FIELD(Plimsoll__NumaHugePages, numa_hugepages, total),
	WIRE_FIELD(Plimsoll__NumaHugePages, numa_hugepages, free),
};

static const struct wire_field own_fields[] = {
	WIRE_FIELD(Plimsoll__OwnCost, own_cost, cpu_us),
	WIRE_FIELD(Plimsoll__OwnCost, own_cost, rss_bytes),
	WIRE_FIELD(Plimsoll__OwnCost, own_cost, spool_bytes),
};

static const struct wire_field report_integers[] = {
	WIRE_FIELD(Plimsoll__Report, report, seq),
	WIRE_FIELD(Plimsoll__Report, report, monotonic_us),
	WIRE_FIELD(Plimsoll__Report, report, wall_us),
	WIRE_FIELD(Plimsoll__Report, report, dropped),
	WIRE_FIELD(Plimsoll__Report, report, vms_skipped),
};

static const struct wire_field report_doubles[] = {
	WIRE_FIELD(Plimsoll__Report, report, load1),
	WIRE_FIELD(Plimsoll__Report, report, load5),
	WIRE_FIELD(Plimsoll__Report, report, load15),
};

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
	wire->has_state = true;
	wire->state = (Plimsoll__SourceState)ours->state;
	wire_put_integers(wire, ours, WIRE_TABLE(psi_fields));
	return wire;
}

/* NULL, and so not sent, where nothing of it is known. */
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
	wire_put_integers(&wire->vm, ours, WIRE_TABLE(vm_fields));
	wire->vm.pressure = put_pressure(&wire->pressure, &ours->pressure);
	for (size_t i = 0; i < ours->hugetlb_count; i++) {
		plimsoll__hugetlb_use__init(&wire->hugetlb[i]);
		wire_put_integers(&wire->hugetlb[i], &ours->hugetlb[i],
			WIRE_TABLE(hugetlb_fields));
		wire->hugetlb_pointers[i] = &wire->hugetlb[i];
	}
	wire->vm.n_hugetlb = ours->hugetlb_count;
	wire->vm.hugetlb = wire->hugetlb_pointers;
}

static void put_kvm(Plimsoll__Kvm *wire, const struct kvm *ours)
{
	plimsoll__kvm__init(wire);
	wire->has_state = true;
	wire->state = (Plimsoll__KvmState)ours->state;
	wire->has_level = true;
	wire->level = (Plimsoll__KvmLevel)ours->level;
	wire->has_error_number = ours->error_number != 0;
	wire->error_number = ours->error_number;
	wire->has_exit_reason = ours->exit_reason != 0;
	wire->exit_reason = ours->exit_reason;
	wire->has_latency_us = true;
	wire->latency_us = ours->latency_us;
	wire->has_nested = ours->nested != KNOWN_NOT;
	wire->nested = ours->nested == KNOWN_TRUE;
	wire->has_has_tun = true;
	wire->has_tun = ours->has_tun;
	wire->has_has_vhost_net = true;
	wire->has_vhost_net = ours->has_vhost_net;
	wire->has_has_vhost_vsock = true;
	wire->has_vhost_vsock = ours->has_vhost_vsock;
	wire->has_has_sev = true;
	wire->has_sev = ours->has_sev;
}

static void put_cpu(Plimsoll__CpuTotals *wire, const struct cpu_totals *ours)
{
	plimsoll__cpu_totals__init(wire);
	wire->has_state = true;
	wire->state = (Plimsoll__SourceState)ours->state;
	wire->has_online = ours->online != 0;
	wire->online = ours->online;
	wire->has_possible = ours->possible != 0;
	wire->possible = ours->possible;
	wire_put_integers(wire, ours, WIRE_TABLE(cpu_fields));
}

static void put_memory(Plimsoll__Memory *wire, const struct memory *ours)
{
	plimsoll__memory__init(wire);
	wire->has_state = true;
	wire->state = (Plimsoll__SourceState)ours->state;
	wire_put_integers(wire, ours, WIRE_TABLE(memory_fields));
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
		wire_put_integers(&numa->items[i], &ours->numa_hugepages[i],
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

	wire_put_integers(&wire, report, WIRE_TABLE(report_integers));
	wire_put_doubles(&wire, report, WIRE_TABLE(report_doubles));
	memcpy(boot_id, report->boot_id, sizeof(boot_id));
	wire.boot_id = boot_id[0] == '\0' ? NULL : boot_id;
	wire.has_interval_ms = true;
	wire.interval_ms = report->interval_ms;
	put_cpu(&cpu, &report->cpu);
	wire.cpu = &cpu;
	wire.pressure = put_pressure(&pressure, &report->pressure);
	wire.kubepods_pressure = put_pressure(&kubepods, &report->kubepods);
	put_memory(&memory, &report->memory);
	wire.memory = &memory;
	wire_hugepages_put(&huge, report->hugepages, report->hugepages_count);
	wire.n_hugepages = report->hugepages_count;
	wire.hugepages = huge.pointers;
	put_numa(&wire, &numa, report);
	wire.irq_pressure = put_psi(&irq, &report->irq);
	plimsoll__own_cost__init(&own);
	wire_put_integers(&own, &report->own, WIRE_TABLE(own_fields));
	wire.own = &own;
	wire.has_cgroup_mode = true;
	wire.cgroup_mode = (Plimsoll__CgroupMode)report->cgroup_mode;
	put_kvm(&kvm, &report->kvm);
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
	int r;

	if (wire == NULL) {
		return 0;
	}
	r = wire_check_enum((int)wire->state, SOURCE_ERROR, "psi state", err);
	ours->state = (enum source_state)wire->state;
	wire_get_integers(ours, wire, WIRE_TABLE(psi_fields));
	return r;
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
	if (wire->n_numa_hugepages > REPORT_NUMA_HUGEPAGES) {
		return error_set(err, -EBADMSG,
			"%zu sizes of huge pages on NUMA nodes",
			wire->n_numa_hugepages);
	}
	for (size_t i = 0; i < wire->n_numa_hugepages; i++) {
		wire_get_integers(&ours->numa_hugepages[i],
			wire->numa_hugepages[i], WIRE_TABLE(numa_fields));
	}
	ours->numa_hugepages_count = wire->n_numa_hugepages;
	return 0;
}

static int get_vm(struct vm_pod *ours, const Plimsoll__VmPod *wire,
	struct error *err)
{
	int r;

	vm_pod_init(ours);
	r = wire_get_name(ours->pod_uid, sizeof(ours->pod_uid), wire->pod_uid,
		"pod_uid", err);
	if (r < 0) {
		return r;
	}
	if (wire->n_hugetlb > REPORT_HUGEPAGE_SIZES) {
		return error_set(err, -EBADMSG, "%zu sizes of huge pages",
			wire->n_hugetlb);
	}
	wire_get_integers(ours, wire, WIRE_TABLE(vm_fields));
	for (size_t i = 0; i < wire->n_hugetlb; i++) {
		wire_get_integers(&ours->hugetlb[i], wire->hugetlb[i],
			WIRE_TABLE(hugetlb_fields));
	}
	ours->hugetlb_count = wire->n_hugetlb;
	return get_pressure(&ours->pressure, wire->pressure, err);
}

static int get_vms(struct report *ours, const Plimsoll__Report *wire,
	struct error *err)
{
	int r = 0;

	if (wire->n_vms > REPORT_VMS_MAX) {
		return error_set(err, -EBADMSG, "%zu pods in one report",
			wire->n_vms);
	}
	ours->vms = wire->n_vms == 0 ? NULL
				     : xcalloc(wire->n_vms, sizeof(*ours->vms));
	ours->vm_count = wire->n_vms;
	for (size_t i = 0; r == 0 && i < wire->n_vms; i++) {
		r = get_vm(&ours->vms[i], wire->vms[i], err);
	}
	return r;
}

static int get_kvm(struct kvm *ours, const Plimsoll__Kvm *wire,
	struct error *err)
{
	int r;

	if (wire == NULL) {
		return 0;
	}
	r = wire_check_enum((int)wire->state, KVM_STATES - 1, "kvm state", err);
	if (r == 0) {
		r = wire_check_enum((int)wire->level, KVM_LEVEL_RUN,
			"kvm level", err);
	}
	*ours = (struct kvm){
		.state = (enum kvm_state)wire->state,
		.level = (enum kvm_level)wire->level,
		.error_number = wire->error_number,
		.exit_reason = wire->exit_reason,
		.latency_us = wire->latency_us,
		.nested = !wire->has_nested ? KNOWN_NOT
			: wire->nested	    ? KNOWN_TRUE
					    : KNOWN_FALSE,
		.has_tun = wire->has_tun != 0,
		.has_vhost_net = wire->has_vhost_net != 0,
		.has_vhost_vsock = wire->has_vhost_vsock != 0,
		.has_sev = wire->has_sev != 0,
	};
	return r;
}

static int get_node(struct report *ours, const Plimsoll__Report *wire,
	struct error *err)
{
	int r = 0;

	if (wire->cpu != NULL) {
		r = wire_check_enum((int)wire->cpu->state, SOURCE_ERROR,
			"cpu state", err);
		ours->cpu.state = (enum source_state)wire->cpu->state;
		ours->cpu.online = wire->cpu->online;
		ours->cpu.possible = wire->cpu->possible;
		wire_get_integers(&ours->cpu, wire->cpu,
			WIRE_TABLE(cpu_fields));
	}
	if (r == 0 && wire->memory != NULL) {
		r = wire_check_enum((int)wire->memory->state, SOURCE_ERROR,
			"memory state", err);
		ours->memory.state = (enum source_state)wire->memory->state;
		wire_get_integers(&ours->memory, wire->memory,
			WIRE_TABLE(memory_fields));
	}
	if (r == 0) {
		r = wire_check_enum((int)wire->cgroup_mode, CGROUP_V1,
			"cgroup mode", err);
		ours->cgroup_mode = (enum cgroup_mode)wire->cgroup_mode;
	}
	return r;
}

/* What every report must say for its key and its age to mean anything. */
static int get_identity(struct report *ours, const Plimsoll__Report *wire,
	struct error *err)
{
	wire_get_integers(ours, wire, WIRE_TABLE(report_integers));
	ours->interval_ms = wire->interval_ms;
	if (ours->seq == 0 || ours->seq >= INT64_MAX) {
		return error_set(err, -EBADMSG, "a report has no usable seq");
	}
	if (ours->monotonic_us == 0 || ours->monotonic_us > WIRE_TIME_MAX_US) {
		return error_set(err, -EBADMSG, "a report has no usable time");
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
	r = get_identity(&report, wire, err);
	if (r == 0) {
		r = get_node(&report, wire, err);
	}
	if (r == 0) {
		r = get_pressure(&report.pressure, wire->pressure, err);
	}
	if (r == 0) {
		r = get_pressure(&report.kubepods, wire->kubepods_pressure,
			err);
	}
	if (r == 0) {
		r = wire_get_doubles(&report, wire, WIRE_TABLE(report_doubles),
			err);
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
		r = get_psi(&report.irq, wire->irq_pressure, err);
	}
	if (r == 0 && wire->own != NULL) {
		wire_get_integers(&report.own, wire->own,
			WIRE_TABLE(own_fields));
	}
	if (r == 0) {
		r = get_kvm(&report.kvm, wire->kvm, err);
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
		? error_set(err, -EBADMSG, "the bytes are no report")
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
