#include "agent/node.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/directory.h"
#include "agent/kvm_prober.h"
#include "agent/kvm_verdict.h"
#include "agent/sampler.h"
#include "agent/scan.h"
#include "lib/clock.h"
#include "lib/files.h"
#include "lib/memory.h"

enum { PROBE_EVERY_MS = 30000, PROBE_CPU_MS = 3000, PROBE_WALL_MS = 60000 };
enum { STATM_MAX = 256 };

struct node {
	struct sampler *sampler;
	struct kvm_prober *prober;
	struct kvm_verdict verdict;
	bool is_once; /* the result of one probe counts */
	/* CPU pressure of the node between the last two reports. */
	uint64_t waited_us, report_us;
	double cpu_pressure;
	int dev, sys;
	node_probed probed;
	void *owner;
};

static void on_probed(void *owner, const struct kvm *kvm)
{
	struct node *node = owner;
	struct kvm before = node->verdict.kvm;

	if (node->is_once) {
		node->verdict.kvm = *kvm;
	} else {
		kvm_verdict_add(&node->verdict, kvm, node->cpu_pressure,
			clock_monotonic_us());
	}
	node->probed(node->owner, &node->verdict.kvm, &before);
}

int node_new(struct node **out, uv_loop_t *loop,
	const struct agent_config *config, node_probed probed, void *owner,
	struct error *err)
{
	struct node *node = xcalloc(1, sizeof(*node));
	const struct sampler_roots roots = {
		.proc = config->proc_root,
		.sys = config->sys_root,
		.cgroup = config->cgroup_root,
	};
	int r;

	node->dev = -1;
	node->sys = -1;
	node->is_once = config->once;
	node->cpu_pressure = NAN;
	node->waited_us = REPORT_UNKNOWN;
	node->probed = probed;
	node->owner = owner;
	r = sampler_new(&node->sampler, &roots, err);
	if (r == 0) {
		r = directory_open_root(&node->dev, config->dev_root, err);
	}
	if (r == 0) {
		r = directory_open_root(&node->sys, config->sys_root, err);
	}
	if (r < 0) {
		node_close(node);
		return r;
	}
	node->prober = kvm_prober_new(loop,
		&(const struct kvm_prober_options){
			.body = kvm_probe,
			.plan = { node->dev, node->sys,
				(enum kvm_level)config->kvm_level },
			.every_ms = PROBE_EVERY_MS,
			.cpu_ms = PROBE_CPU_MS,
			.wall_ms = PROBE_WALL_MS,
			.probed = on_probed,
			.owner = node,
		});
	*out = node;
	return 0;
}

static void note_pressure(struct node *node, const struct psi *cpu,
	uint64_t now_us)
{
	node->cpu_pressure = cpu->some_us == REPORT_UNKNOWN ||
			node->waited_us == REPORT_UNKNOWN ||
			cpu->some_us < node->waited_us ||
			now_us <= node->report_us
		? NAN
		: (double)(cpu->some_us - node->waited_us) /
			(double)(now_us - node->report_us);
	node->waited_us = cpu->some_us;
	node->report_us = now_us;
}

static uint64_t us_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

void node_read_own_cost(struct own_cost *out, const char *statm)
{
	char text[STATM_MAX];
	struct scan s = { .at = text };
	struct rusage usage;
	uint64_t size;
	uint64_t resident;

	if (getrusage(RUSAGE_SELF, &usage) == 0) {
		out->cpu_us = us_of(&usage.ru_utime) + us_of(&usage.ru_stime);
	}
	/* proc(5): "size resident ...", in pages. */
	if (file_read_at(text, sizeof(text), AT_FDCWD, statm, NULL) >= 0 &&
		scan_u64(&s, &size) && scan_text(&s, " ") &&
		scan_u64(&s, &resident)) {
		out->rss_bytes = resident * (uint64_t)sysconf(_SC_PAGESIZE);
	}
}

void node_report(struct report *out, struct node *node, uint64_t interval_us)
{
	uint64_t now_us = clock_monotonic_us();

	sampler_read(out, node->sampler, now_us);
	out->monotonic_us = now_us;
	out->wall_us = clock_wall_us();
	out->interval_ms = (uint32_t)(interval_us / 1000);
	note_pressure(node, &out->pressure.cpu, now_us);
	out->kvm = node->verdict.kvm;
	node_read_own_cost(&out->own, NODE_OWN_STATM);
}

const struct error *node_last_error(const struct node *node)
{
	return sampler_last_error(node->sampler);
}

void node_close(struct node *node)
{
	if (node == NULL) {
		return;
	}
	kvm_prober_close(node->prober);
	sampler_free(node->sampler);
	directory_close(node->dev);
	directory_close(node->sys);
	free(node);
}
