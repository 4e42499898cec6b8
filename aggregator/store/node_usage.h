/* How many bytes of reports each node has in the database, and which node has
 * far more than its share.
 *
 * Blobs are counted exactly (blob_bytes). Rows of the head are estimated,
 * because reading them all takes too long: from two rows of each node and slot,
 * and, of a large fleet, from one slot of up to 16 that follow each other. The
 * count is done in short steps: an hour of 1,000 nodes takes 150 steps, which
 * are 15 s. */
#pragma once

#include "aggregator/store/db.h"

/* A node's share is this part of the size limit, but at least so many times
 * what the typical node has. The second holds in small fleets, and leaves room
 * for nodes that have more VMs or a shorter interval than others. */
enum { NODE_USAGE_PART = 16, NODE_USAGE_TIMES = 4 };

/* The typical node is the median, or the 33rd in order of bytes: names that a
 * peer invents have few bytes and must not make the others look greedy. */
enum { NODE_USAGE_RANK = 32 };

struct node_usage;

must_check int node_usage_new(struct node_usage **out, struct sqlite3 *db,
	struct error *err);
void node_usage_free(struct node_usage *usage); /* NULL is fine */

/* Forgets what was counted; the next step begins again. */
void node_usage_restart(struct node_usage *usage);

/* Counts on. *is_done: all nodes are counted. */
must_check int node_usage_step(struct node_usage *usage, bool *is_done,
	struct error *err);

/* The head alone, all nodes together. */
uint64_t node_usage_head_bytes(const struct node_usage *usage);

struct node_usage_excess {
	int64_t node;
	uint64_t bytes, share;
};

/* The node with the most bytes, if it has more than its share. False: no node
 * has. */
bool node_usage_find_excess(struct node_usage_excess *out,
	const struct node_usage *usage, uint64_t max_bytes);

/* Bytes of a node were deleted, or of the head. */
void node_usage_subtract(struct node_usage *usage, int64_t node,
	uint64_t bytes);
void node_usage_subtract_head(struct node_usage *usage, uint64_t bytes);
