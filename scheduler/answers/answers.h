/* Answers questions of users, which aggregators pass on: where a VM would be
 * placed, which moves a plan has, and outlooks (outlooks.h).
 *
 * A placement is answered at once, by the scheduler's own cache with its
 * reservations, loads and policy; that of a VM's manifest once the VM's profile
 * came, or after ANSWERS_PROFILE_MS. Placements take a tenth of the event
 * loop's time at most: the next one waits nine times as long as the last one
 * took, and is refused after ANSWERS_PLACE_WAIT_US. The cost of one
 * is bounded (filter/constraint_cost.h); a copy of the cluster for a thread
 * would cost the loop more. A plan is searched for in the planner's
 * thread, behind the searches for urgent pods. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct buffer;

enum { ANSWERS_PROFILE_MS = 1000, ANSWERS_PLACE_PART = 10 };

/* Well below QUESTION_DEADLINE_US. */
#define ANSWERS_PLACE_WAIT_US INT64_C(10000000)

struct answers;
struct cache;
struct kubevirt;
struct planner;
struct policy;
struct profile_client;
struct question_client;
struct queue;
struct reach;
struct reservations;

/* moves_ask_room() and moves_forget_room(); and the reach of VMs. */
struct answers_room {
	void (*ask)(void *moves,
		void (*done)(void *owner, int status,
			const struct buffer *body),
		void *owner);
	void (*forget)(void *moves, void *owner);
	void *moves;
	const struct reach *reach;
};

/* All outlive the answers. */
struct answers_options {
	struct cache *cache;
	struct reservations *reservations;
	struct queue *queue;
	const struct policy *policy;
	struct question_client *questions;
	struct profile_client *profiles; /* of VMs that do not run */
	uv_loop_t *loop;
	/* NULL: nothing watches KubeVirt; so is the next, and the scheduler
	 * keeps no constraints of running pods. */
	struct planner *planner;
	const struct kubevirt *kubevirt;
	struct answers_room room; /* not used without a planner */
	bool (*is_synced)(void *owner);
	bool (*leads)(void *owner);
	void *owner;
};

/* Listens to the question client. Never NULL. */
struct answers *answers_new(const struct answers_options *options);

/* Before the planner and the clients are closed. No question comes after
 * it. NULL is fine. */
void answers_close(struct answers *answers);
