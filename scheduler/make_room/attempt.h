/* One pod for which room is made or recommended, and the list of them.
 *
 * Everything in it can be computed again from the pod, the cluster and the
 * records of moves: a new leader has no attempts and continues all the same. */
#pragma once

#include "proto/decision.h"
#include "proto/report.h"
#include "scheduler/make_room/make_room.h"
#include "scheduler/mover/proposals.h"
#include "scheduler/objects/pod.h"
#include "scheduler/plan/plan.h"
#include "scheduler/rebalance/move_records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attempt_search;
struct make_room;

/* Moves of a plan, and those that an earlier plan ordered. */
enum { ATTEMPT_MOVES_MAX = 8, ATTEMPT_WHY_MAX = 1024 };

/* Pods of the same priority take turns of at least this. */
#define ATTEMPT_TURN_US INT64_C(60000000)

enum attempt_state {
	ATTEMPT_PLANNING,     /* the first search is not done */
	ATTEMPT_WITHOUT_PLAN, /* the sentence says what came closest */
	ATTEMPT_RECOMMENDED,
	ATTEMPT_MOVING,	 /* moves are ordered one after the other */
	ATTEMPT_WAITING, /* the moves are done; the place is held */
	ATTEMPT_BINDING,
	ATTEMPT_STATES,
};

struct attempt {
	struct make_room *room; /* of the list */
	char uid[REPORT_UID_MAX];
	char namespace[DECISION_NAME_MAX], name[DECISION_NAME_MAX];
	int32_t priority;
	int64_t generation; /* of the pod's spec */
	enum attempt_state state;
	int64_t since_us; /* when it came to the list */
	uint64_t wall_us; /* the same moment, since 1970 */
	/* When the pod's first move was ordered, or its place was held; 0: not
	 * yet. */
	int64_t began_us;
	bool has_orders;
	bool is_restored; /* the records of earlier leaders were there */
	bool is_over;	  /* to be dropped */
	struct attempt_search *search; /* under way; NULL: none */
	int64_t searched_us;	       /* the begin of the last search */
	unsigned fruitless;	       /* searches in a row without a plan */
	bool is_doubted;    /* a pod came to the place: a search is due */
	int64_t planned_us; /* the end of the last search; 0: none */

	/* The plan; node is "" without one. */
	char node[REPORT_NODE_MAX];
	char sentence[PLAN_SENTENCE_MAX];
	struct proposal moves[ATTEMPT_MOVES_MAX];
	size_t move_count;
	bool is_counted; /* in plans */
	unsigned plans;	 /* whose moves were ordered */

	bool is_holding; /* the pod's copy is in the cache */
	/* The place that is or was held; "": none was. */
	char held_node[REPORT_NODE_MAX];
	char placed_on[REPORT_NODE_MAX]; /* by the last decision */
	/* Pods that came to the node since may have taken the place. */
	int64_t held_us;
	/* Written to status.nominatedNodeName; "": nothing was, or it was
	 * removed. wrote: the last node. */
	char nominated[REPORT_NODE_MAX], wrote[REPORT_NODE_MAX];
	int64_t nominated_us;
	int64_t freed_us; /* all moves are done; 0: not yet */
	int64_t woken_us; /* the last time */
	bool wants_wake;  /* the message changed, or the pod may fit */
	/* No node fitted at this time, after freed_us; 0: that did not happen.
	 * refusal: the reasons of `node`. */
	int64_t refused_us;
	uint64_t refusal;
	/* Nothing is ordered now; "": moves are, or need not be. */
	char why[ATTEMPT_WHY_MAX];
};

const char *attempt_state_name(enum attempt_state state);

bool attempt_has_plan(const struct attempt *attempt);

/* A move of the attempt was ordered and has not ended. */
bool attempt_is_moving(const struct attempt *attempt);

/* A move that was ordered ended without success; NULL: none. */
const struct move_record *attempt_failed_move(const struct attempt *attempt);

/* All moves succeeded. False without moves. */
bool attempt_is_done(const struct attempt *attempt);

/* There is a plan, and none of its moves that have not ended leads to its
 * node. */
bool attempt_may_hold(const struct attempt *attempt);

/* Forgets the moves that have ended or were not ordered. */
void attempt_keep_open(struct attempt *attempt);

/* Reads the moves' records again. A recommendation that is no longer kept loses
 * its id, and such an order becomes withdrawn. */
void attempt_sync(struct attempt *attempt, const struct move_records *records);

/* ---- the list ---- */

/* Zeroed: empty. The most urgent pod first, then the oldest attempt. */
struct attempts {
	struct attempt *list[MAKE_ROOM_ATTEMPTS_MAX]; /* owned */
	size_t count;
};

struct attempt *attempts_find(const struct attempts *attempts, const char *uid);

/* NULL: the list is full, and none gives way. An attempt gives way as long as
 * nothing was ordered or held for it: to a more urgent pod, and to one of the
 * same priority if a search has ended, nothing is recommended, and it has been
 * in the list for ATTEMPT_TURN_US. The least urgent goes first, then the
 * oldest. *displaced: the attempt that left for this one, now the caller's;
 * NULL: none. */
struct attempt *attempts_add(struct attempts *attempts, const struct pod *pod,
	int64_t now_us, struct attempt **displaced);

/* The attempt becomes the caller's. */
void attempts_take(struct attempts *attempts, const struct attempt *attempt);
