#include "agent/report_json.h"

#include "lib/json.h"

static void put(struct json *j, const char *key, uint64_t value)
{
	if (value != REPORT_UNKNOWN) {
		json_unsigned(j, key, value);
	}
}

static void put_state(struct json *j, enum source_state state)
{
	json_string(j, "state", source_state_name(state));
}

static void put_psi(struct json *j, const char *key, const struct psi *psi)
{
	json_object(j, key);
	put_state(j, psi->state);
	put(j, "some_us", psi->some_us);
	put(j, "full_us", psi->full_us);
	json_object_end(j);
}

/* Left out whole where nothing was even tried. */
static void put_pressure(struct json *j, const char *key,
	const struct pressure *pressure)
{
	if (pressure->cpu.state == SOURCE_UNKNOWN) {
		return;
	}
	json_object(j, key);
	put_psi(j, "cpu", &pressure->cpu);
	put_psi(j, "memory", &pressure->memory);
	put_psi(j, "io", &pressure->io);
	json_object_end(j);
}

static void put_cpu(struct json *j, const struct cpu_totals *cpu)
{
	json_object(j, "cpu");
	put_state(j, cpu->state);
	if (cpu->online > 0) {
		json_unsigned(j, "online", cpu->online);
	}
	if (cpu->possible > 0) {
		json_unsigned(j, "possible", cpu->possible);
	}
	put(j, "user_us", cpu->user_us);
	put(j, "nice_us", cpu->nice_us);
	put(j, "system_us", cpu->system_us);
	put(j, "idle_us", cpu->idle_us);
	put(j, "iowait_us", cpu->iowait_us);
	put(j, "irq_us", cpu->irq_us);
	put(j, "softirq_us", cpu->softirq_us);
	put(j, "steal_us", cpu->steal_us);
	json_object_end(j);
}

static void put_memory(struct json *j, const struct memory *memory)
{
	json_object(j, "memory");
	put_state(j, memory->state);
	put(j, "total_bytes", memory->total_bytes);
	put(j, "available_bytes", memory->available_bytes);
	put(j, "swap_total_bytes", memory->swap_total_bytes);
	put(j, "swap_free_bytes", memory->swap_free_bytes);
	put(j, "ksm_saved_bytes", memory->ksm_saved_bytes);
	json_object_end(j);
}

static void put_hugepages(struct json *j, const struct report *report)
{
	json_array(j, "hugepages");
	for (size_t i = 0; i < report->hugepages_count; i++) {
		const struct hugepages *h = &report->hugepages[i];

		json_object(j, NULL);
		put(j, "size_bytes", h->size_bytes);
		put(j, "total", h->total);
		put(j, "free", h->free);
		put(j, "reserved", h->reserved);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_numa(struct json *j, const struct report *report)
{
	json_array(j, "numa_hugepages");
	for (size_t i = 0; i < report->numa_hugepages_count; i++) {
		const struct numa_hugepages *h = &report->numa_hugepages[i];

		json_object(j, NULL);
		put(j, "numa_node", h->numa_node);
		put(j, "size_bytes", h->size_bytes);
		put(j, "total", h->total);
		put(j, "free", h->free);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_own(struct json *j, const struct own_cost *own)
{
	json_object(j, "own");
	put(j, "cpu_us", own->cpu_us);
	put(j, "rss_bytes", own->rss_bytes);
	put(j, "spool_bytes", own->spool_bytes);
	json_object_end(j);
}

static void put_kvm(struct json *j, const struct kvm *kvm)
{
	char detail[80];

	json_object(j, "kvm");
	json_string(j, "state", kvm_state_name(kvm->state));
	json_string(j, "level", kvm_level_name(kvm->level));
	if (kvm_detail(detail, kvm)[0] != '\0') {
		json_string(j, "detail", detail);
	}
	if (kvm->latency_us > 0) {
		json_unsigned(j, "latency_us", kvm->latency_us);
	}
	if (kvm->nested != KNOWN_NOT) {
		json_bool(j, "nested", kvm->nested == KNOWN_TRUE);
	}
	json_object(j, "devices");
	json_bool(j, "tun", kvm->has_tun);
	json_bool(j, "vhost_net", kvm->has_vhost_net);
	json_bool(j, "vhost_vsock", kvm->has_vhost_vsock);
	json_bool(j, "sev", kvm->has_sev);
	json_object_end(j);
	json_object_end(j);
}

static void put_vm(struct json *j, const struct vm_pod *vm)
{
	json_object(j, NULL);
	json_string(j, "pod_uid", vm->pod_uid);
	put(j, "cgroup_inode", vm->cgroup_inode);
	put(j, "cpu_usage_us", vm->cpu_usage_us);
	put(j, "nr_throttled", vm->nr_throttled);
	put(j, "throttled_us", vm->throttled_us);
	put_pressure(j, "pressure", &vm->pressure);
	put(j, "memory_current_bytes", vm->memory_current_bytes);
	put(j, "working_set_bytes", vm->working_set_bytes);
	put(j, "anon_shmem_bytes", vm->anon_shmem_bytes);
	put(j, "swap_bytes", vm->swap_bytes);
	put(j, "oom_kills", vm->oom_kills);
	json_array(j, "hugetlb");
	for (size_t i = 0; i < vm->hugetlb_count; i++) {
		json_object(j, NULL);
		put(j, "size_bytes", vm->hugetlb[i].size_bytes);
		put(j, "used_bytes", vm->hugetlb[i].used_bytes);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

void report_json_write(struct buffer *out, const char *node,
	const struct report *report)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_string(&j, "node", node);
	put(&j, "seq", report->seq);
	if (report->boot_id[0] != '\0') {
		json_string(&j, "boot_id", report->boot_id);
	}
	put(&j, "monotonic_us", report->monotonic_us);
	put(&j, "wall_us", report->wall_us);
	json_unsigned(&j, "interval_ms", report->interval_ms);
	put_cpu(&j, &report->cpu);
	put_pressure(&j, "pressure", &report->pressure);
	put_pressure(&j, "kubepods", &report->kubepods);
	if (report->irq.state != SOURCE_UNKNOWN) {
		put_psi(&j, "irq", &report->irq);
	}
	put_memory(&j, &report->memory);
	put_hugepages(&j, report);
	put_numa(&j, report);
	json_number(&j, "load1", report->load1);
	json_number(&j, "load5", report->load5);
	json_number(&j, "load15", report->load15);
	json_string(&j, "cgroup_mode", cgroup_mode_name(report->cgroup_mode));
	put_kvm(&j, &report->kvm);
	json_array(&j, "vms");
	for (size_t i = 0; i < report->vm_count; i++) {
		put_vm(&j, &report->vms[i]);
	}
	json_array_end(&j);
	put(&j, "vms_skipped", report->vms_skipped);
	put(&j, "dropped", report->dropped);
	put_own(&j, &report->own);
	json_object_end(&j);
}
