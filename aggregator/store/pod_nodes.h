/* Which VM and node a pod belongs to, as the API server states it, and which
 * nodes reported the pod, and when: how the history of a VM is found. The
 * tables `identity` and `place`.
 *
 * A pod has one node for life. The history of a VM is what the stated node of
 * each pod reported, before the statement or after it. Reports of other nodes
 * never count; before the statement nothing counts. */
#pragma once

#include "aggregator/store/thread.h"

struct pod_nodes;

must_check int pod_nodes_new(struct pod_nodes **out, struct sqlite3 *db,
	struct error *err);
void pod_nodes_free(struct pod_nodes *pod_nodes); /* NULL is fine */

struct pod_node_seen {
	const char *pod_uid;
	int64_t node; /* its number in the database */
	uint64_t first_ms, last_ms;
};

/* Widens the time for which the node reported the pod. This and the next
 * function need the caller's transaction. */
must_check int pod_nodes_note(struct pod_nodes *pod_nodes,
	const struct pod_node_seen *seen, struct error *err);

/* Stores an identity and replaces that of the same pod. node is the number of
 * identity->node; 0: not stated, which keeps an earlier statement. */
must_check int pod_nodes_identify(struct pod_nodes *pod_nodes,
	const struct store_identity *identity, int64_t node, uint64_t now_ms,
	struct error *err);

/* Deletes pods that were last seen before this. */
must_check int pod_nodes_delete(struct sqlite3 *db, uint64_t before_ms,
	struct error *err);
