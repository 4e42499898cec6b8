#include "tests/bench/synthetic.h"

#include <stdio.h>

#include "lib/memory.h"
#include "tests/support/random.h"

uint64_t synthetic_below(struct synthetic *m, uint64_t most)
{
	return random_next(&m->random) % most;
}

/* Adds about rate a second, with 20 % noise, in steps of unit. */
static void grow(struct synthetic *m, uint64_t *total, uint64_t rate,
	uint64_t unit)
{
	uint64_t mean = rate * m->interval_s;
	uint64_t noise = mean / 5 + 1;

	*total += (mean - noise + synthetic_below(m, 2 * noise)) / unit * unit;
}

static void walk(struct synthetic *m, uint64_t *level, uint64_t width)
{
	*level += (synthetic_below(m, 2 * width) - width) & ~UINT64_C(4095);
}

static void step_pressure(struct synthetic *m, struct pressure *p,
	uint64_t rate)
{
	grow(m, &p->cpu.some_us, rate, 1);
	grow(m, &p->memory.some_us, rate / 200, 1);
	grow(m, &p->memory.full_us, rate / 300, 1);
	grow(m, &p->io.some_us, rate / 20, 1);
	grow(m, &p->io.full_us, rate / 30, 1);
}

static void start_pressure(struct pressure *p)
{
	p->cpu = p->memory = p->io = (struct psi){ SOURCE_PRESENT, 1000, 0 };
}

void synthetic_start(struct synthetic *m, struct report *r)
{
	report_init(r);
	(void)snprintf(r->boot_id, sizeof(r->boot_id),
		"3f1c9a52-6c0e-4b57-9a31-%012llx",
		(unsigned long long)synthetic_below(m, 1 << 30));
	r->monotonic_us = UINT64_C(86400000000) + synthetic_below(m, 1 << 30);
	r->interval_ms = (uint32_t)m->interval_s * 1000;
	r->cpu = (struct cpu_totals){ SOURCE_PRESENT, 64, 64, 1, 1, 1, 1, 1, 0,
		1, 0 };
	start_pressure(&r->pressure);
	start_pressure(&r->kubepods);
	r->memory = (struct memory){ .state = SOURCE_PRESENT,
		.total_bytes = UINT64_C(1) << 39,
		.available_bytes = UINT64_C(1) << 38 };
	r->load1 = r->load5 = r->load15 = 20;
	r->cgroup_mode = CGROUP_V2;
	r->kvm.state = KVM_OK;
	r->own = (struct own_cost){ 0, 5 << 20, 0 };
	r->hugepages_count = 2;
	r->hugepages[0] = (struct hugepages){ 2 << 20, 512, 512, 0 };
	r->hugepages[1] = (struct hugepages){ 1 << 30, 0, 0, 0 };
	r->dropped = 0;
	r->vms_skipped = 0;
	r->vm_count = m->vms;
	r->vms =
		r->vm_count == 0 ? NULL : xcalloc(r->vm_count, sizeof(*r->vms));
	for (size_t i = 0; i < r->vm_count; i++) {
		struct vm_pod *vm = &r->vms[i];

		vm_pod_init(vm);
		(void)snprintf(vm->pod_uid, sizeof(vm->pod_uid),
			"%08llx-6c0e-4b57-9a31-%012llx",
			(unsigned long long)synthetic_below(m, UINT32_MAX),
			(unsigned long long)synthetic_below(m, UINT32_MAX));
		vm->cgroup_inode = 1000 + i;
		vm->cpu_usage_us = 0;
		vm->nr_throttled = 0;
		vm->throttled_us = 0;
		start_pressure(&vm->pressure);
		vm->memory_current_bytes = UINT64_C(4) << 30;
	}
}

static void step_vm(struct synthetic *m, struct vm_pod *vm, bool is_fifth)
{
	grow(m, &vm->cpu_usage_us, 400000, 1);
	step_pressure(m, &vm->pressure, 9000);
	walk(m, &vm->memory_current_bytes, 1 << 20);
	vm->working_set_bytes = is_fifth ? vm->memory_current_bytes - (99 << 20)
					 : REPORT_UNKNOWN;
	vm->anon_shmem_bytes = is_fifth ? UINT64_C(3) << 30 : REPORT_UNKNOWN;
	vm->swap_bytes = is_fifth ? 0 : REPORT_UNKNOWN;
	vm->oom_kills = is_fifth ? 0 : REPORT_UNKNOWN;
}

void synthetic_step(struct synthetic *m, struct report *r)
{
	const uint64_t tick_us = 10000; /* of /proc/stat */

	r->seq++;
	r->monotonic_us +=
		m->interval_s * 1000000 + synthetic_below(m, 400) - 200;
	r->wall_us =
		m->begin_ms * 1000 + r->monotonic_us + synthetic_below(m, 3);
	grow(m, &r->cpu.user_us, 20000000, tick_us);
	grow(m, &r->cpu.system_us, 4000000, tick_us);
	grow(m, &r->cpu.idle_us, 40000000, tick_us);
	grow(m, &r->cpu.iowait_us, 90000, tick_us);
	grow(m, &r->cpu.softirq_us, 200000, tick_us);
	step_pressure(m, &r->pressure, 90000);
	step_pressure(m, &r->kubepods, 80000);
	walk(m, &r->memory.available_bytes, 64 << 20);
	r->load1 = (double)(1800 + synthetic_below(m, 400)) / 100;
	r->load5 = (double)(1950 + synthetic_below(m, 100)) / 100;
	r->load15 = (double)(1990 + synthetic_below(m, 20)) / 100;
	grow(m, &r->own.cpu_us, 130, 1);
	for (size_t i = 0; i < r->vm_count; i++) {
		step_vm(m, &r->vms[i], r->seq % 5 == 0);
	}
}
