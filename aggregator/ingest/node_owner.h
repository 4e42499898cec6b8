/* Which agent reports for a node, if there are several under its name. Pure:
 * time is an argument.
 *
 * Two agents whose reports interleave would blind the node. The agent that
 * reports already continues: the same process, or a process of the same pod.
 * Another one waits until that agent has been silent for two of its intervals,
 * or is dismissed. Only the Hello of a connection counts, and not the runs in
 * its batches: an agent also delivers what an earlier process left. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A faster agent may be silent for so long: an Ack alone takes 230 ms. */
#define NODE_OWNER_SILENT_MIN_US UINT64_C(2000000)
/* A slower agent may not: the longest --interval is a minute. */
#define NODE_OWNER_SILENT_MAX_US UINT64_C(120000000)
/* A node has several agents until no other one has asked for so long. Agents
 * ask every second. */
#define NODE_OWNER_RIVAL_US UINT64_C(30000000)

enum {
	NODE_OWNER_POD_MAX = 600, /* the path of a pod, with the NUL */
	NODE_OWNER_UID_MAX = 64,
	NODE_OWNER_NAMES_MAX = 100, /* named in metrics */
};

struct node_owners;

struct node_claim {
	const char *node;
	const uint8_t *run_id; /* of the Hello, REPORT_RUN_ID_BYTES */
	const char *pod;       /* path at the API server; "": unknown */
	const char *pod_uid;   /* "": unknown */
};

struct node_owners *node_owners_new(void);	   /* never NULL */
void node_owners_free(struct node_owners *owners); /* NULL is fine */

/* An agent says Hello. True: it reports for the node from now on. */
bool node_owners_claim(struct node_owners *owners,
	const struct node_claim *claim, uint64_t now_us);

/* An agent sends a batch; interval_ms is that of its newest report, or 0.
 * False: another agent reports for the node; this one has to say Hello. */
bool node_owners_report(struct node_owners *owners,
	const struct node_claim *claim, uint32_t interval_ms, uint64_t now_us);

/* The nodes whose agent has reported within two of its intervals, or has just
 * said Hello. nng does not say which connections are open. */
size_t node_owners_connected(const struct node_owners *owners, uint64_t now_us);

/* The pod of the agent that reports; false: there is none, or its pod is not
 * known. pod has room for NODE_OWNER_POD_MAX and uid for NODE_OWNER_UID_MAX. */
bool node_owners_pod(const struct node_owners *owners, const char *node,
	char *pod, char *uid);

/* The agent in the pod with this uid will end: the next claim succeeds. */
void node_owners_dismiss(struct node_owners *owners, const char *node,
	const char *pod_uid);

/* True at most once a minute and node, and once a second in all: this wait
 * should be logged. */
bool node_owners_may_log(struct node_owners *owners, const char *node,
	uint64_t now_us);

/* Nodes for which an agent waits now. names gets up to NODE_OWNER_NAMES_MAX of
 * them, borrowed until the next call of another function. */
size_t node_owners_rivals(const struct node_owners *owners,
	const char *names[NODE_OWNER_NAMES_MAX], uint64_t now_us);
