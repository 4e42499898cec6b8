/* How many nodes each VM can still reach, and which VMs stand where they may
 * not (filter/standing.h).
 *
 * A VM can reach a node, other than its own, if the target pod of its migration
 * (launcher/next_pod.h) could run there if no other pod were there or anywhere:
 * filter_empty_node() has no reason. A VM whose target pod is not known, or
 * that does not run, has no reach.
 *
 * All VMs are looked at again and again, in slices between which the event loop
 * serves everything else. VMs whose target pods ask for the same share the look
 * at the nodes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct cache;
struct kubevirt;
struct reach;

/* A look begins this long after the end of the last one, and not before
 * REACH_PART times the work of that one: looks take one part in REACH_PART of
 * the event loop's time at most. */
#define REACH_EVERY_US INT64_C(30000000)
enum { REACH_PART = 50 };

/* The work of a slice; the look at the nodes for one VM is not divided. */
#define REACH_SLICE_US INT64_C(1000)

/* All outlive the reach. */
struct reach_options {
	uv_loop_t *loop;
	const struct cache *cache;
	const struct kubevirt *kubevirt;
	/* This replica leads, and knows all nodes, pods and VMIs. If not,
	 * nothing is known any more. */
	bool (*is_ready)(void *owner);
	void *owner;
};

/* A look counts other pods for this long, for the VMs whose constraints need
 * that; the next look goes on with the others. */
#define REACH_COUNTS_US INT64_C(100000)

/* Further misplaced VMs have to wait until others have moved. */
enum { REACH_MISPLACED_MAX = 256 };

/* Never NULL. */
struct reach *reach_new(const struct reach_options *options);

/* The result of the last complete look. */
struct reach_stats {
	bool is_known;		/* there was one; else the next two are 0 */
	size_t count;		/* VMs whose reach is known */
	size_t stranded;	/* of these, VMs that reach no other node */
	size_t misplaced;	/* VMs that stand where they may not */
	double work_s;		/* of the look, all slices together */
	double longest_slice_s; /* of all looks */
};
void reach_stats(const struct reach *reach, struct reach_stats *out);

/* "namespace/vm", borrowed until the event loop runs. i is below the count. */
const char *reach_vm(const struct reach *reach, size_t i, unsigned *nodes);

/* The uid of the launcher pod of a VM that stands where it may not, borrowed
 * until the event loop runs. i is below stats.misplaced. */
const char *reach_misplaced(const struct reach *reach, size_t i);

void reach_close(struct reach *reach); /* NULL is fine */
