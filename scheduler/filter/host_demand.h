/* Demands of KubeVirt on a node, in a person's words: the model of the CPU, its
 * features, its vendor, the machine type. They are keys of the pod's node
 * selector that nobody wrote, and filter/filter.h has the same reason for all
 * of them. Pure. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/cluster/node.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>
#include <stddef.h>

/* "CPU model", "Icelake-Server". Borrows of the pod's interner. */
struct host_demand {
	const char *kind, *name;
};

/* The first demand of the pod that the node does not meet, in the order of the
 * table: model, vendor, features, machine type. False: it meets them all, or it
 * is out of question anyway, because people select other nodes; *out is then
 * zeroed. */
bool host_demand_unmet(struct host_demand *out, const struct pod *pod,
	const struct node *node);

/* Appends "its CPU model Icelake-Server is not on node-3". */
void host_demand_tell(struct buffer *out, const struct host_demand *demand,
	const struct node *node);

/* Further demands of a pod are left out. */
enum { HOST_DEMANDS_MAX = 8 };

struct host_demand_nodes {
	struct host_demand demand;
	size_t nodes; /* that do not meet it */
};

/* Zeroed: none. */
struct host_demand_counts {
	struct host_demand_nodes list[HOST_DEMANDS_MAX];
	size_t count;
};

/* Counts the node for host_demand_unmet(), if that is true of it: true. */
bool host_demand_count(struct host_demand_counts *counts, const struct pod *pod,
	const struct node *node);

/* Appends "its CPU model Icelake-Server is on no other node with room" for the
 * demand that most nodes do not meet; nothing if all nodes meet all. The nodes
 * that meet it, if any, must have no room. runs false: the VM runs nowhere, and
 * "other" is left out. */
void host_demand_tell_none(struct buffer *out,
	const struct host_demand_counts *counts, bool runs);

/* Appends "3 nodes without it, 1 node without its CPU feature gfni". */
void host_demand_tell_counts(struct buffer *out,
	const struct host_demand_counts *counts);
