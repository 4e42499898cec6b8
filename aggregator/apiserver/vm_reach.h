/* How many nodes each VM can still reach, as the leading scheduler says:
 * scheduler/mover/reach.h.
 *
 * The scheduler is asked for page after page (QUESTION_REACH), so that neither
 * side works on many VMs at a time, and again VM_REACH_EVERY_MS after the last
 * page. A reach that no page had for VM_REACH_KEPT_US is not known any more:
 * the VM is gone, or no scheduler leads that knows it. */
#pragma once

#include <stdint.h>
#include <uv.h>

enum {
	VM_REACH_EVERY_MS = 30000,
	/* After a question without an answer. */
	VM_REACH_RETRY_MS = 5000,
	/* Further VMs have no reach. */
	VM_REACH_MAX = 200000,
};
#define VM_REACH_KEPT_US UINT64_C(120000000)

struct questions;
struct vm_reach;

/* questions outlive it. Never NULL. */
struct vm_reach *vm_reach_new(uv_loop_t *loop, struct questions *questions);

/* vm: "namespace/name". REPORT_UNKNOWN: not known. */
uint64_t vm_reach_nodes(const struct vm_reach *reach, const char *vm,
	uint64_t now_us);

void vm_reach_free(struct vm_reach *reach); /* NULL is fine */
