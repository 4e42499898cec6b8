#include "agent/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/cpu.h"
#include "agent/hugepages.h"
#include "agent/kernel_file.h"
#include "agent/ksm.h"
#include "agent/loadavg.h"
#include "agent/meminfo.h"
#include "agent/numa.h"
#include "agent/pods.h"
#include "agent/psi.h"
#include "lib/files.h"
#include "lib/memory.h"

enum { SLOW_EVERY = 5, CPU_LIST_MAX = 4096, BOOT_ID_LEN = 36 };

struct sampler {
	int proc, sys, cgroup;
	struct kept_file stat, meminfo, loadavg, irq, ksm;
	struct psi_files pressure;
	struct hugepages_pools hugepages;
	struct pods *pods;
	struct cpu_totals cpu;	      /* the highest that was seen */
	char boot_id[REPORT_UID_MAX]; /* "": not known */
	uint32_t cpus_possible;	      /* 0: not known */
	uint64_t machine_bytes;	      /* what no container can shadow */
	uint64_t taken;
	struct error trouble;
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

static int open_root(int *out, const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		return error_errno(err, "cannot open '%s'", path);
	}
	*out = fd;
	return 0;
}

int sampler_new(struct sampler **out, const struct sampler_roots *roots,
	struct error *err)
{
	struct sampler *s = xcalloc(1, sizeof(*s));
	struct report nothing;
	int r;

	s->proc = -1;
	s->sys = -1;
	s->cgroup = -1;
	r = open_root(&s->proc, roots->proc, err);
	if (r == 0) {
		r = open_root(&s->sys, roots->sys, err);
	}
	if (r == 0) {
		r = open_root(&s->cgroup, roots->cgroup, err);
	}
	if (r < 0) {
		sampler_free(s);
		return r;
	}
	kept_file_init(&s->stat, s->proc, "stat");
	kept_file_init(&s->meminfo, s->proc, "meminfo");
	kept_file_init(&s->loadavg, s->proc, "loadavg");
	kept_file_init(&s->pressure.cpu, s->proc, "pressure/cpu");
	kept_file_init(&s->pressure.memory, s->proc, "pressure/memory");
	kept_file_init(&s->pressure.io, s->proc, "pressure/io");
	kept_file_init(&s->irq, s->proc, "pressure/irq");
	ksm_init(&s->ksm, s->sys);
	hugepages_init(&s->hugepages, s->sys);
	s->machine_bytes = numa_memory_bytes(s->sys);
	s->pods = pods_new(s->cgroup);
	report_init(&nothing);
	s->cpu = nothing.cpu;
	read_boot_id(s);
	read_possible(s);
	*out = s;
	return 0;
}

static void close_root(int fd)
{
	if (fd >= 0) {
		(void)close(fd);
	}
}

void sampler_free(struct sampler *sampler)
{
	if (sampler == NULL) {
		return;
	}
	kept_file_fini(&sampler->stat);
	kept_file_fini(&sampler->meminfo);
	kept_file_fini(&sampler->loadavg);
	kept_file_fini(&sampler->irq);
	kept_file_fini(&sampler->ksm);
	psi_files_fini(&sampler->pressure);
	hugepages_fini(&sampler->hugepages);
	pods_free(sampler->pods);
	close_root(sampler->proc);
	close_root(sampler->sys);
	close_root(sampler->cgroup);
	free(sampler);
}

/* Both count the pages that the kernel manages, so they agree; a container's
 * limit in the place of the node's memory does not. */
static void refuse_shadowed(struct memory *out, uint64_t machine_bytes,
	struct error *err)
{
	uint64_t total = out->total_bytes;

	if (machine_bytes == REPORT_UNKNOWN || total == REPORT_UNKNOWN ||
		total >= machine_bytes - machine_bytes / 16) {
		return;
	}
	(void)error_set(err, -EXDEV,
		"'meminfo' is not the node's: it has %" PRIu64
		" MiB of its %" PRIu64 " MiB; mount the host's /proc",
		total >> 20, machine_bytes >> 20);
	*out = (struct memory){
		.state = SOURCE_ERROR,
		.total_bytes = REPORT_UNKNOWN,
		.available_bytes = REPORT_UNKNOWN,
		.swap_total_bytes = REPORT_UNKNOWN,
		.swap_free_bytes = REPORT_UNKNOWN,
		.ksm_saved_bytes = REPORT_UNKNOWN,
	};
}

static void read_memory(struct report *out, struct sampler *sampler,
	bool with_slow, struct error *err)
{
	meminfo_read(&out->memory, &sampler->meminfo, err);
	refuse_shadowed(&out->memory, sampler->machine_bytes, err);
	if (with_slow) {
		ksm_read(&out->memory, &sampler->ksm, err);
		numa_read_hugepages(out, sampler->sys, err);
	}
}

void sampler_take(struct report *out, struct sampler *sampler, uint64_t now_us)
{
	struct error *err = &sampler->trouble;
	bool with_memory = sampler->taken % SLOW_EVERY == 0;

	*err = (struct error){ 0 };
	report_init(out);
	memcpy(out->boot_id, sampler->boot_id, sizeof(out->boot_id));
	out->cpu.possible = sampler->cpus_possible;
	cpu_read(&out->cpu, &sampler->stat, sampler->stat_text, err);
	cpu_hold_forward(&out->cpu, &sampler->cpu);
	psi_files_read(&out->pressure, &sampler->pressure, err);
	psi_read_irq(&out->irq, &sampler->irq, err);
	read_memory(out, sampler, with_memory, err);
	loadavg_read(out, &sampler->loadavg, err);
	hugepages_read(out, &sampler->hugepages, err);
	pods_read(out, sampler->pods, now_us, with_memory, err);
	sampler->taken++;
}

const struct error *sampler_trouble(const struct sampler *sampler)
{
	return &sampler->trouble;
}
