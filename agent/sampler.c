#include "agent/sampler.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cpu.h"
#include "agent/directory.h"
#include "agent/hugepages.h"
#include "agent/kernel_file.h"
#include "agent/meminfo.h"
#include "agent/numa.h"
#include "agent/pods.h"
#include "agent/psi.h"
#include "lib/files.h"
#include "lib/memory.h"

enum { SLOW_EVERY = 5, CPU_LIST_MAX = 4096, BOOT_ID_LEN = 36 };

struct sampler {
	int proc, sys, cgroup;
	struct kernel_file stat, meminfo, vmstat, loadavg, irq, ksm;
	struct psi_files pressure;
	struct hugepages_pools hugepages;
	struct pods *pods;
	struct cpu_totals cpu;	      /* the highest values so far */
	char boot_id[REPORT_UID_MAX]; /* "": unknown */
	uint32_t cpus_possible;	      /* 0: unknown */
	uint64_t machine_bytes;	      /* not shadowed by a container */
	uint64_t count;		      /* of reports */
	struct error last_error;
	char stat_text[CPU_STAT_MAX];
};

static void read_boot_id(struct sampler *sampler)
{
	char text[REPORT_UID_MAX];

	if (file_read_at(text, sizeof(text), sampler->proc,
		    "sys/kernel/random/boot_id", NULL) >= BOOT_ID_LEN) {
		text[strcspn(text, "\n")] = '\0';
		memcpy(sampler->boot_id, text, sizeof(text));
	}
}

static void read_possible(struct sampler *sampler)
{
	char text[CPU_LIST_MAX];

	if (file_read_at(text, sizeof(text), sampler->sys,
		    "devices/system/cpu/possible", NULL) > 0) {
		sampler->cpus_possible = cpu_count_list(text);
	}
}

int sampler_new(struct sampler **out, const struct sampler_roots *roots,
	struct error *err)
{
	struct sampler *s = xcalloc(1, sizeof(*s));
	int r;

	s->proc = -1;
	s->sys = -1;
	s->cgroup = -1;
	r = directory_open_root(&s->proc, roots->proc, err);
	if (r == 0) {
		r = directory_open_root(&s->sys, roots->sys, err);
	}
	if (r == 0) {
		r = directory_open_root(&s->cgroup, roots->cgroup, err);
	}
	if (r == 0) {
		r = hugepages_init(&s->hugepages, s->sys, err);
	}
	if (r < 0) {
		sampler_free(s);
		return r;
	}
	kernel_file_init(&s->stat, s->proc, "stat");
	kernel_file_init(&s->meminfo, s->proc, "meminfo");
	kernel_file_init(&s->vmstat, s->proc, "vmstat");
	kernel_file_init(&s->loadavg, s->proc, "loadavg");
	kernel_file_init(&s->pressure.cpu, s->proc, "pressure/cpu");
	kernel_file_init(&s->pressure.memory, s->proc, "pressure/memory");
	kernel_file_init(&s->pressure.io, s->proc, "pressure/io");
	kernel_file_init(&s->irq, s->proc, "pressure/irq");
	kernel_file_init(&s->ksm, s->sys, MEMINFO_KSM_FILE);
	s->machine_bytes = numa_memory_bytes(s->sys);
	s->pods = pods_new(s->cgroup);
	read_boot_id(s);
	read_possible(s);
	*out = s;
	return 0;
}

void sampler_free(struct sampler *sampler)
{
	if (sampler == NULL) {
		return;
	}
	kernel_file_fini(&sampler->stat);
	kernel_file_fini(&sampler->meminfo);
	kernel_file_fini(&sampler->vmstat);
	kernel_file_fini(&sampler->loadavg);
	kernel_file_fini(&sampler->irq);
	kernel_file_fini(&sampler->ksm);
	psi_files_fini(&sampler->pressure);
	hugepages_fini(&sampler->hugepages);
	pods_free(sampler->pods);
	directory_close(sampler->proc);
	directory_close(sampler->sys);
	directory_close(sampler->cgroup);
	free(sampler);
}

/* meminfo and the NUMA nodes count the same pages. A smaller total in meminfo
 * is the memory limit of a container. */
static void reject_shadowed(struct memory *out, uint64_t machine_bytes,
	struct error *err)
{
	uint64_t total = out->total_bytes;

	if (machine_bytes == REPORT_UNKNOWN || total == REPORT_UNKNOWN ||
		total >= machine_bytes - machine_bytes / 16) {
		return;
	}
	(void)error_set(err, -EXDEV,
		"'meminfo' shows %" PRIu64 " MiB of the node's %" PRIu64
		" MiB; mount the host's /proc",
		total >> 20, machine_bytes >> 20);
	*out = meminfo_unknown;
	out->state = SOURCE_ERROR;
}

static void read_memory(struct report *out, struct sampler *sampler,
	bool with_slow, struct error *err)
{
	meminfo_read(&out->memory, &sampler->meminfo, err);
	meminfo_read_swap_in(&out->memory, &sampler->vmstat, err);
	reject_shadowed(&out->memory, sampler->machine_bytes, err);
	if (with_slow) {
		meminfo_read_ksm(&out->memory, &sampler->ksm, err);
		numa_read_hugepages(out, sampler->sys, err);
	}
}

void sampler_read(struct report *out, struct sampler *sampler, uint64_t now_us)
{
	struct error *err = &sampler->last_error;
	bool with_slow = sampler->count % SLOW_EVERY == 0;

	*err = (struct error){ 0 };
	report_init(out);
	memcpy(out->boot_id, sampler->boot_id, sizeof(out->boot_id));
	out->cpu.possible = sampler->cpus_possible;
	cpu_read(&out->cpu, &sampler->stat, sampler->stat_text, err);
	cpu_keep_monotonic(&out->cpu, &sampler->cpu);
	psi_files_read(&out->pressure, &sampler->pressure, err);
	psi_read_irq(&out->irq, &sampler->irq, err);
	read_memory(out, sampler, with_slow, err);
	cpu_read_loadavg(out, &sampler->loadavg, err);
	hugepages_read(out, &sampler->hugepages, err);
	pods_read(out, sampler->pods, now_us, err);
	sampler->count++;
}

const struct error *sampler_last_error(const struct sampler *sampler)
{
	return &sampler->last_error;
}
