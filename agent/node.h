/* The node: a sampler and a KVM prober, which together make whole reports. */
#pragma once

#include "agent/config.h"
#include "lib/error.h"
#include "proto/report.h"

#include <stdint.h>
#include <uv.h>

struct node;

/* Called on the thread of the event loop after each KVM probe: what is reported
 * now, and what was before. */
typedef void (*node_probed)(void *owner, const struct kvm *now,
	const struct kvm *before);

/* Opens the roots and starts probing. owner outlives the node.
 * -ENOENT, -EACCES, -ENOTDIR: a root does not exist or cannot be read. */
must_check int node_new(struct node **out, uv_loop_t *loop,
	const struct agent_config *config, node_probed probed, void *owner,
	struct error *err);

/* Makes a report, which report_fini() releases. The caller sets seq, dropped
 * and the bytes of the spool. interval_us is the time since the previous
 * report. */
void node_report(struct report *out, struct node *node, uint64_t interval_us);

/* Why a source of the last report has the state error; code 0: none has. */
const struct error *node_last_error(const struct node *node);

void node_close(struct node *node); /* frees itself; NULL is fine */

/* Not below --proc-root: the agent's own process. */
#define NODE_OWN_STATM "/proc/self/statm"

/* Fills in the CPU time of the agent's own process, and its resident memory
 * from the file statm. A value that cannot be read stays unchanged. */
void node_read_own_cost(struct own_cost *out, const char *statm);
