#include "agent/node.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/kvm_prober.h"
#include "agent/sampler.h"
#include "lib/clock.h"
#include "lib/memory.h"

enum { PROBE_EVERY_MS = 30000, PROBE_TIMEOUT_MS = 3000 };

struct node {
	struct sampler *sampler;
	struct kvm_prober *prober;
	struct kvm kvm;
	int dev, sys;
	node_probed probed;
	void *owner;
};

static void on_probed(void *owner, const struct kvm *kvm)
{
	struct node *node = owner;
	struct kvm before = node->kvm;

	node->kvm = *kvm;
	node->probed(node->owner, kvm, &before);
}

static int open_directory(int *out, const char *path, struct error *err)
{
	*out = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return *out < 0 ? error_errno(err, "cannot open '%s'", path) : 0;
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
	node->probed = probed;
	node->owner = owner;
	r = sampler_new(&node->sampler, &roots, err);
	if (r == 0) {
		r = open_directory(&node->dev, config->dev_root, err);
	}
	if (r == 0) {
		r = open_directory(&node->sys, config->sys_root, err);
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
			.timeout_ms = PROBE_TIMEOUT_MS,
			.probed = on_probed,
			.owner = node,
		});
	*out = node;
	return 0;
}

void node_report(struct report *out, struct node *node, uint64_t interval_us)
{
	uint64_t now_us = clock_monotonic_us();

	sampler_take(out, node->sampler, now_us);
	out->monotonic_us = now_us;
	out->wall_us = clock_wall_us();
	out->interval_ms = (uint32_t)(interval_us / 1000);
	out->kvm = node->kvm;
}

const struct error *node_trouble(const struct node *node)
{
	return sampler_trouble(node->sampler);
}

static void close_directory(int fd)
{
	if (fd >= 0) {
		(void)close(fd);
	}
}

void node_close(struct node *node)
{
	if (node == NULL) {
		return;
	}
	kvm_prober_close(node->prober);
	sampler_free(node->sampler);
	close_directory(node->dev);
	close_directory(node->sys);
	free(node);
}
