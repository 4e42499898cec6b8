/* Which node a pod belongs to where no API server states it: the first node
 * that reports a pod holds it until that node was silent about the pod for
 * POD_CLAIMS_SILENT_US. Another node's claim in the meantime changes nothing.
 *
 * In memory, no I/O and no clock of its own; times are of one monotonic clock,
 * and may arrive in any order. Above the limits below, a pod that nobody holds
 * is not held, and a claim to it is granted. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	/* One node's: twice what a report may hold, 0.9 MB. */
	POD_CLAIMS_NODE_MAX = 4096,
	/* All nodes': 5,000 nodes with 50 VMs, 50 MB. */
	POD_CLAIMS_MAX = 1 << 18,
};

#define POD_CLAIMS_SILENT_US UINT64_C(300000000)

struct pod_claims;

struct pod_claims *pod_claims_new(void);
void pod_claims_free(struct pod_claims *claims); /* NULL is fine */

/* The node reported the pod at this time. NULL: the claim is granted. Else the
 * name of the node that holds the pod, borrowed until the next call. */
const char *pod_claims_claim(struct pod_claims *claims, const char *pod_uid,
	const char *node, uint64_t at_us);
