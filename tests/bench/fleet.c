#include "tests/bench/fleet.h"

#include "lib/memory.h"

#include <stdio.h>
#include <string.h>

/* splitmix64: a number that looks random and depends on its argument alone. */
static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* A counter that grows by `rate` a second, with up to 2 % noise in each second,
 * in steps of one. */
static uint64_t counter(uint64_t id, uint64_t at_us, double rate)
{
	uint64_t second = at_us / 1000000;
	double whole = (double)second * rate;
	double jitter = (double)(mix(id ^ second * 977) % 100000) / 100000.0;
	double part = (double)(at_us % 1000000) / 1e6;

	return (uint64_t)(whole + rate * (0.02 * jitter + 0.98 * part)) +
		mix(id) % 1000000000;
}

static struct psi psi_of(uint64_t id, uint64_t at_us, double share)
{
	return (struct psi){ SOURCE_PRESENT, counter(id, at_us, share * 1e6),
		counter(id + 1, at_us, share * 3e5) };
}

static void fill_cpu(struct report *r, uint64_t id, uint64_t at_us,
	double extra_us)
{
	uint64_t *modes[] = { &r->cpu.user_us, &r->cpu.nice_us,
		&r->cpu.system_us, &r->cpu.idle_us, &r->cpu.iowait_us,
		&r->cpu.irq_us, &r->cpu.softirq_us, &r->cpu.steal_us };
	static const double cores[] = { 3, 0, 0.5, 12, 0.1, 0, 0.05, 0 };

	r->cpu.state = SOURCE_PRESENT;
	r->cpu.online = (uint32_t)FLEET_CORES;
	r->cpu.possible = (uint32_t)FLEET_CORES;
	for (size_t i = 0; i < count_of(modes); i++) {
		/* The kernel counts in hundredths of a second. */
		*modes[i] = counter(id + 10 + i, at_us, cores[i] * 1e6) /
			10000 * 10000;
	}
	r->cpu.user_us += (uint64_t)extra_us;
}

static void fill_memory(struct report *r, uint64_t id, uint64_t at_us)
{
	uint64_t wave = mix(id ^ at_us / 1000000) % (64 << 20);

	r->memory.state = SOURCE_PRESENT;
	r->memory.total_bytes = UINT64_C(128) << 30;
	r->memory.available_bytes = ((UINT64_C(60) << 30) + wave) / 4096 * 4096;
	r->memory.swap_total_bytes = 0;
	r->memory.swap_free_bytes = 0;
	r->memory.ksm_saved_bytes = 0;
	r->hugepages_count = 1;
	r->hugepages[0] = (struct hugepages){ 2 << 20, 1024, 512, 0 };
}

static void fill_vm(struct vm_pod *vm, uint64_t id, uint64_t at_us, bool is_all)
{
	uint64_t wave = mix(id ^ at_us / 2000000) % (8 << 20);

	vm_pod_init(vm);
	(void)snprintf(vm->pod_uid, sizeof(vm->pod_uid),
		"%08x-0000-4000-8000-%012llx", (unsigned)(mix(id) >> 32),
		(unsigned long long)(mix(id) & 0xffffffffffff));
	vm->cgroup_inode = mix(id) % 100000;
	vm->cpu_usage_us = counter(id + 1, at_us, 1e5 + (double)(id % 9) * 1e4);
	vm->nr_throttled = 0;
	vm->throttled_us = 0;
	vm->pressure.cpu = psi_of(id + 2, at_us, 0.01);
	vm->pressure.memory = psi_of(id + 4, at_us, 0);
	vm->pressure.io = psi_of(id + 6, at_us, 0.001);
	vm->memory_current_bytes = ((UINT64_C(2) << 30) + wave) / 4096 * 4096;
	if (is_all) {
		vm->working_set_bytes = vm->memory_current_bytes - (1 << 20);
		vm->anon_shmem_bytes = vm->memory_current_bytes - (2 << 20);
		vm->swap_bytes = 0;
		vm->oom_kills = 0;
		vm->hugetlb_count = 1;
		vm->hugetlb[0] = (struct hugetlb_use){ 2 << 20, 0 };
	}
}

/* Tells the pods of a VM apart, which replace each other. VMs get theirs one
 * after the other. tests/support/large_fleet.py has those that stay. */
static uint64_t pod_of(const struct fleet *fleet, size_t vm, uint64_t at_us)
{
	uint64_t life_us = fleet->life_s * 1000000;

	return life_us == 0
		? 0
		: mix((at_us + life_us * vm / fleet->vms) / life_us) << 32;
}

void fleet_report(struct report *out, const struct fleet *fleet, size_t node,
	uint64_t seq, uint64_t at_us, uint64_t busy_from_us)
{
	uint64_t id = (node + 1) * 1000003;
	bool is_busy = busy_from_us != 0 && at_us > busy_from_us;

	report_init(out);
	out->seq = seq;
	(void)snprintf(out->boot_id, sizeof(out->boot_id),
		"6d1b5b7e-0000-4000-8000-%012zx", node);
	out->monotonic_us = at_us;
	out->wall_us = at_us;
	out->interval_ms = fleet->interval_ms;
	fill_cpu(out, id, at_us,
		is_busy ? FLEET_STEP_CORES * (double)(at_us - busy_from_us)
			: 0);
	out->pressure.cpu = psi_of(id + 20, at_us, 0.05);
	out->pressure.memory = psi_of(id + 22, at_us, 0);
	out->pressure.io = psi_of(id + 24, at_us, 0.01);
	out->kubepods.cpu = psi_of(id + 26, at_us, 0.04);
	out->kubepods.memory = psi_of(id + 28, at_us, 0);
	out->kubepods.io = psi_of(id + 30, at_us, 0.01);
	fill_memory(out, id, at_us);
	out->load1 = (double)(mix(id ^ at_us / 5000000) % 800) / 100;
	out->load5 = (double)(mix(id ^ at_us / 30000000) % 600) / 100;
	out->load15 = (double)(mix(id ^ at_us / 90000000) % 500) / 100;
	out->cgroup_mode = CGROUP_V2;
	out->kvm.state = KVM_OK;
	out->vm_count = fleet->vms;
	out->vms = xcalloc(fleet->vms, sizeof(*out->vms));
	for (size_t i = 0; i < fleet->vms; i++) {
		uint64_t vm = id + 100 * (i + 1);

		fill_vm(&out->vms[i], vm ^ pod_of(fleet, i, at_us), at_us,
			seq % 5 == 0);
	}
}

/* ---- as a scraper sees it ---- */

struct walk {
	fleet_value each;
	void *owner;
	size_t count;
};

static void give(struct walk *w, const char *name, const char *labels,
	const char *pod, double value)
{
	w->each(w->owner, name, labels, pod, value);
	w->count++;
}

static void give_pressure(struct walk *w, const struct pressure *p,
	const char *who, const char *pod)
{
	const struct {
		const char *name;
		const struct psi *psi;
	} all[] = { { "cpu", &p->cpu }, { "memory", &p->memory },
		{ "io", &p->io } };

	for (size_t i = 0; i < count_of(all); i++) {
		char name[80];

		(void)snprintf(name, sizeof(name),
			"%s_pressure_%s_waiting_seconds_total", who,
			all[i].name);
		give(w, name, "", pod, (double)all[i].psi->some_us / 1e6);
		(void)snprintf(name, sizeof(name),
			"%s_pressure_%s_stalled_seconds_total", who,
			all[i].name);
		give(w, name, "", pod, (double)all[i].psi->full_us / 1e6);
	}
}

static void give_node(struct walk *w, const struct report *r)
{
	static const char *const labels[] = { "mode=\"user\"", "mode=\"nice\"",
		"mode=\"system\"", "mode=\"idle\"", "mode=\"iowait\"",
		"mode=\"irq\"", "mode=\"softirq\"", "mode=\"steal\"" };
	const uint64_t modes[] = { r->cpu.user_us, r->cpu.nice_us,
		r->cpu.system_us, r->cpu.idle_us, r->cpu.iowait_us,
		r->cpu.irq_us, r->cpu.softirq_us, r->cpu.steal_us };

	for (size_t i = 0; i < count_of(modes); i++) {
		give(w, "node_cpu_seconds_total", labels[i], "",
			(double)modes[i] / 1e6);
	}
	give_pressure(w, &r->pressure, "node", "");
	give_pressure(w, &r->kubepods, "kubepods", "");
	give(w, "node_memory_MemTotal_bytes", "", "",
		(double)r->memory.total_bytes);
	give(w, "node_memory_MemAvailable_bytes", "", "",
		(double)r->memory.available_bytes);
	give(w, "node_memory_SwapTotal_bytes", "", "",
		(double)r->memory.swap_total_bytes);
	give(w, "node_memory_SwapFree_bytes", "", "",
		(double)r->memory.swap_free_bytes);
	give(w, "node_memory_ksm_saved_bytes", "", "",
		(double)r->memory.ksm_saved_bytes);
	give(w, "node_hugepages_total", "", "", (double)r->hugepages[0].total);
	give(w, "node_hugepages_free", "", "", (double)r->hugepages[0].free);
	give(w, "node_load1", "", "", r->load1);
	give(w, "node_load5", "", "", r->load5);
	give(w, "node_load15", "", "", r->load15);
}

static void give_vm(struct walk *w, const struct vm_pod *vm)
{
	const char *pod = vm->pod_uid;

	give(w, "container_cpu_usage_seconds_total", "", pod,
		(double)vm->cpu_usage_us / 1e6);
	give(w, "container_cpu_cfs_throttled_periods_total", "", pod,
		(double)vm->nr_throttled);
	give(w, "container_cpu_cfs_throttled_seconds_total", "", pod,
		(double)vm->throttled_us / 1e6);
	give_pressure(w, &vm->pressure, "container", pod);
	give(w, "container_memory_usage_bytes", "", pod,
		(double)vm->memory_current_bytes);
	if (vm->working_set_bytes == REPORT_UNKNOWN) {
		return;
	}
	give(w, "container_memory_working_set_bytes", "", pod,
		(double)vm->working_set_bytes);
	give(w, "container_memory_rss", "", pod, (double)vm->anon_shmem_bytes);
	give(w, "container_memory_swap", "", pod, (double)vm->swap_bytes);
	give(w, "container_oom_events_total", "", pod, (double)vm->oom_kills);
	give(w, "container_hugetlb_usage_bytes", "", pod,
		(double)vm->hugetlb[0].used_bytes);
}

size_t fleet_values(const struct report *report, fleet_value each, void *owner)
{
	struct walk walk = { each, owner, 0 };

	give_node(&walk, report);
	for (size_t i = 0; i < report->vm_count; i++) {
		give_vm(&walk, &report->vms[i]);
	}
	return walk.count;
}
