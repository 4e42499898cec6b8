/* The core of all plans: the moves after which a pod fits on a node.
 *
 * A want says that a pod is to get to a node. If the node does not admit it,
 * each VM there that may leave becomes a want of its own, on top. Wants form a
 * stack; a want is done when its turn comes and the node admits its pod. Each
 * VM moves once. Searches leave the state as it was. */
#pragma once

#include "scheduler/plan/classes.h"
#include "scheduler/plan/relations.h"
#include "scheduler/plan/shortfall.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	SEARCH_DEPTH_MAX = 128,
	/* With more nodes, a VM's targets come from its class's lists. */
	SEARCH_SMALL = 16,
	/* Targets that are tried for a VM. */
	SEARCH_TARGETS = 8,
	/* Targets out of which another VM must move first. */
	SEARCH_PUSHES = 16,
};

/* Beside the bits of filter/filter.h: reasons of the search. */
#define SEARCH_EXCLUDED (UINT64_C(1) << 63)
#define SEARCH_LOAD (UINT64_C(1) << 62)

/* Reasons that do not end when VMs leave the node. */
#define SEARCH_HOPELESS                                                        \
	(FILTER_BIT(REASON_REFUSED) | FILTER_BIT(REASON_PINNED) |              \
		FILTER_BIT(REASON_UNSCHEDULABLE) |                             \
		FILTER_BIT(REASON_NODE_NAME) | FILTER_BIT(REASON_TAINT) |      \
		FILTER_BIT(REASON_AFFINITY) | FILTER_BIT(REASON_FEATURES) |    \
		FILTER_BIT(REASON_SPREAD_LABEL) |                              \
		FILTER_BIT(REASON_VOLUMES + VOLUMES_DRIVER) |                  \
		FILTER_BIT(REASON_VOLUMES + VOLUMES_AFFINITY) |                \
		FILTER_BIT(REASON_VOLUMES + VOLUMES_NONE) |                    \
		FILTER_BIT(REASON_VOLUMES + VOLUMES_SPACE) |                   \
		FILTER_BIT(REASON_VOLUMES + VOLUMES_MISSING) |                 \
		FILTER_BIT(REASON_VOLUMES + VOLUMES_ZONE) |                    \
		FILTER_BIT(REASON_KVM_MISSING) |                               \
		FILTER_BIT(REASON_KVM_API_MISMATCH) |                          \
		FILTER_BIT(REASON_KVM_CREATE_FAILED) |                         \
		FILTER_BIT(REASON_KVM_RUN_FAILED) | SEARCH_EXCLUDED)

enum want_kind {
	WANT_MOVE,
	WANT_START,
	WANT_POD,   /* the goal's pod */
	WANT_CLASS, /* room for a class */
};

struct want {
	enum want_kind kind;
	size_t vm; /* of the first two kinds */
	const struct pod *pod;
	size_t node;
	size_t first;	    /* VMs of the node before this were tried */
	struct want *below; /* done next; NULL: none */
};

static inline bool want_has_vm(const struct want *want)
{
	return want->kind == WANT_MOVE || want->kind == WANT_START;
}

/* A plan that was found. */
struct found {
	bool is_found;
	size_t *vms, *targets;	    /* owned */
	enum plan_step_kind *kinds; /* owned */
	size_t count, capacity;
	size_t moves;
	double memory;
	long load;   /* of the fullest target, in 1/10,000 */
	size_t node; /* of the goal's pod */
};

/* A filter that is ready for a pod at a version of the state. */
struct ready {
	struct move_filter filter;
	const struct pod *pod;
	enum want_kind kind;
	uint64_t version, node_work; /* work of the filters of one node */
};

struct search {
	struct state *state; /* borrowed */
	struct classes classes;
	struct relations relations; /* made when it is needed */
	struct filter_options options;
	struct ready *ready; /* owned; by depth */
	unsigned depth;
	uint64_t work, limit;	/* the limit of all searches */
	uint64_t quota;		/* work at which this search ends */
	bool was_short;		/* a search ended at its quota */
	const struct pod *goal; /* only lower priorities move; NULL: all */
	size_t closed;		/* no VM moves to this node; STATE_NONE */
	size_t open;		/* VMs leave it although it is excluded */
	size_t busy[SEARCH_DEPTH_MAX]; /* VMs that are about to move */
	size_t busy_count;
	bool ends_at_first, is_probing, has_reached;
	bool is_cut;
	struct found best;
};

void search_begin(struct search *s, struct state *state,
	const struct plan_goal *goal);
void search_end(struct search *s);
/* The search must end: the limit, or the caller's flag. */
bool search_is_over(struct search *s);

/* Whether the node admits the pod now: reasons, 0: it does. */
uint64_t search_admits(struct search *s, const struct want *want);

/* Another node admits the VM now. */
bool search_has_room(struct search *s, size_t vm);

/* The VM may be moved for this goal. */
bool search_may_leave(const struct search *s, size_t vm);

/* The next searches end after a part of the work that is left, but have the
 * work `least`. */
void search_limit(struct search *s, uint64_t part, uint64_t least);

/* Looks for plans of `moves` moves that end with the want, and keeps the best
 * in s->best. */
void search_want(struct search *s, struct want *want, size_t moves);

/* The same for a VM that is to run on any other node. */
void search_leave(struct search *s, size_t vm, enum want_kind kind,
	size_t moves);

/* Makes the steps of s->best and forgets it. */
void search_keep(struct search *s);
/* ---- between its files ---- */

/* The search, or its quota, is over. */
bool search_must_end(struct search *s);

/* Bytes that the moves of the state copy. */
double search_memory(const struct state *state);

/* All wants are done; node: of the goal's pod. True: the search ends. */
bool search_arrive(struct search *s, size_t node);

/* Does all wants with at most `left` moves. True: the search ends. */
bool search_reach(struct search *s, struct want *want, size_t left,
	size_t node);

/* Nodes where the VM's class has room after this many moves of others. */
const struct class_nodes *search_list(struct search *s, size_t vm,
	size_t moves);

/* The fewest moves of other VMs that may give the VM a target; more than
 * `most`: none do. */
size_t search_pushes(struct search *s, size_t vm, size_t most);
