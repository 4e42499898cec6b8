/* Plans: the fewest moves of running VMs after which a goal holds.
 *
 * One search serves all goals. A move leads from a node to another one whose
 * filters admit the VM when the move's turn comes; until its copy is done, the
 * VM counts on both. The search tries plans of one move on all nodes, then of
 * two, and so on. A VM that has no target may push another VM out of the way.
 * The same input gives the same plan. Pure: the search changes the cluster and
 * restores it. */
#pragma once

#include "scheduler/cluster/cluster.h"
#include "scheduler/filter/filter.h"
#include "scheduler/objects/pod.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PLAN_MOVES = 3, /* the default of max_moves */
	PLAN_MOVES_MAX = 50,
	PLAN_SENTENCE_MAX = 2048,
	PLAN_NOWHERE = -1, /* no node */
};

/* The expected use of a target's shared cores after a move, as a share of
 * them, is at most this, or the search finds no better than none. */
#define PLAN_LOAD_MAX 0.85

enum plan_goal_kind {
	PLAN_POD_FITS,	   /* the pod can be bound */
	PLAN_NODE_EMPTY,   /* no VM runs on the node */
	PLAN_NODE_DRAINED, /* the same, but VMs that can leave do anyway */
	PLAN_VM_ELSEWHERE, /* the VM runs on another node */
	PLAN_NODES_GONE,   /* what if: their VMs start on other nodes */
};

struct plan_goal {
	enum plan_goal_kind kind;
	/* PLAN_POD_FITS: read with POD_UNSCHEDULED, on no node. Only VMs of
	 * lower priority move. PLAN_VM_ELSEWHERE: the VM's launcher pod. */
	struct pod *pod;
	const size_t *nodes; /* the last goal: all; those of one node: it */
	size_t node_count;
};

/* A VM that runs. */
struct plan_vm {
	struct pod *pod; /* its launcher pod, read with POD_UNSCHEDULED */
	size_t node;	 /* index in the cluster's nodes */
	/* Why it must not be moved: "cannot be migrated: ..."; NULL: it may. */
	const char *why_not;
	/* A move that was ordered takes it away: its room will be free. */
	bool is_leaving;
};

/* All borrowed. */
struct plan_input {
	struct cluster *cluster; /* the same after the search */
	const struct filter_options *filter;
	const struct plan_vm *vms; /* all launcher pods that run a VM */
	size_t vm_count;
	/* By node: why VMs neither leave it nor come to it, such as "is
	 * cordoned"; NULL: they may. The array may be NULL. A goal's own node
	 * may always give VMs. */
	const char *const *exclusions;
	int64_t now_us;
	unsigned max_moves; /* 1 to PLAN_MOVES_MAX */
	double max_load;    /* PLAN_LOAD_MAX; nodes without a load pass */
	/* Filters that may be computed: bounds the time, the same everywhere.
	 * 0: PLAN_WORK. */
	uint64_t max_work;
	const atomic_bool *stop; /* NULL: none; true: end soon */
};

/* About 1 s of work. */
#define PLAN_WORK UINT64_C(3000000)

enum plan_step_kind {
	PLAN_MOVE,
	PLAN_START, /* the VM of a node that is gone starts here */
};

/* Loads are expected shares of the node's shared cores; NAN: unknown. */
struct plan_step {
	enum plan_step_kind kind;
	const struct pod *pod; /* of the input */
	size_t source, target; /* indices of nodes */
	double source_load_before, source_load_after;
	double target_load_before, target_load_after;
};

/* A VM for which the plan does nothing, although the goal asks for it. */
struct plan_left {
	const struct pod *pod; /* of the input, or of its cluster */
	size_t node;	       /* where it is */
	/* Owned; follows the VM's name and names no other VM: "cannot be
	 * migrated: ...", "finds no node: 3 Insufficient memory". */
	char *why;
};

struct plan {
	bool is_found;
	struct plan_step *steps; /* owned; in the order of their turns */
	size_t count, moves;	 /* moves: those of kind PLAN_MOVE */
	/* Owned; only with PLAN_NODE_DRAINED and PLAN_NODES_GONE. */
	struct plan_left *left;
	size_t left_count;
	/* Index of the node for the goal's pod; PLAN_NOWHERE: other goals. */
	ptrdiff_t node;
	/* Says what the plan does; without a plan, what came closest and why
	 * that fails. */
	char sentence[PLAN_SENTENCE_MAX];
	uint64_t work;	 /* filters that were computed */
	bool is_cut_off; /* the search ended at a limit */
};

/* Searches. A plan without steps: the goal holds already, or will once the VMs
 * that are leaving have left. */
void plan_find(struct plan *out, const struct plan_input *input,
	const struct plan_goal *goal);

void plan_fini(struct plan *plan); /* zeroed is fine */
