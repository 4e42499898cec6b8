/* The node as the agent sees it: sampler and KVM prober together, so that
 * whole reports come out. */
#pragma once

#include "agent/config.h"
#include "lib/error.h"
#include "proto/report.h"

#include <stdint.h>
#include <uv.h>

struct node;

/* Called on the loop's thread when a KVM probe gave a result; before is the
 * last one. */
typedef void (*node_probed)(void *owner, const struct kvm *now,
	const struct kvm *before);

/* Opens the roots and starts probing. owner outlives the node.
 * -ENOENT, -EACCES, -ENOTDIR: a root is not there to read. */
must_check int node_new(struct node **out, uv_loop_t *loop,
	const struct agent_config *config, node_probed probed, void *owner,
	struct error *err);

/* Takes a report; seq and dropped are left to the caller, report_fini() to
 * release it. interval_us is the time since the last one. */
void node_report(struct report *out, struct node *node, uint64_t interval_us);

/* Why a source of the last report is in state error; code 0: none is. */
const struct error *node_trouble(const struct node *node);

void node_close(struct node *node); /* frees itself; NULL is fine */
