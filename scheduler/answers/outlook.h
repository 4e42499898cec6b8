/* An outlook as JSON: what this scheduler believes of the nodes now, or of one
 * VM. Pure.
 *
 * It names no VM and no pod of its own accord: whoever may read the load of
 * nodes may read it. Figures that are not known are left out. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/cluster/cluster.h"

#include <stdbool.h>
#include <stdint.h>

/* All borrowed. */
struct outlook {
	const struct cluster *cluster;
	const char *scheduler; /* this replica's identity */
	const char *room;      /* the JSON of GET /v1/room; NULL: left out */
	/* "Off", "Recommend" or "Automatic", and why no VM is moved now. */
	const char *rebalance, *why;
	int64_t now_us;	  /* on the clock of the cluster */
	uint64_t wall_us; /* the same moment since 1970 */
};

/* Appends the JSON of the status, ANSWER_BODY_MAX bytes at most: nodes for
 * which there is no room are counted in nodesLeftOut. */
void outlook_write(struct buffer *out, const struct outlook *outlook);

/* All borrowed. */
struct vm_outlook {
	const char *scheduler;
	const char *node; /* NULL: it has none yet */
	bool is_known;	  /* whether it may be moved; else reason says why */
	bool is_movable;
	const char *reason; /* words that follow the VM's name */
	uint64_t wall_us;
};

/* Appends the JSON of the status. */
void outlook_write_vm(struct buffer *out, const struct vm_outlook *vm);
