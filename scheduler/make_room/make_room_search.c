#include "scheduler/make_room/make_room_private.h"

#include "scheduler/cache/queue.h"
#include "scheduler/make_room/attempt_search.h"
#include "scheduler/make_room/room_pods.h"

#include <stdio.h>
#include <string.h>

/* Without a plan the search is repeated after this, then twice as late each
 * time, until MAKE_ROOM_AGAIN_US. */
#define FIRST_AGAIN_US INT64_C(10000000)

static void note_search(struct make_room *room, struct attempt *attempt,
	const struct found_plan *found, struct moment now)
{
	if (!found->is_found && attempt->state != ATTEMPT_WITHOUT_PLAN) {
		room->without_plan++;
	}
	if (found->is_found && attempt->state == ATTEMPT_WITHOUT_PLAN) {
		attempt->state = ATTEMPT_PLANNING; /* until the next tick */
	}
	/* A plan without moves waits for VMs that are leaving. */
	attempt->wants_wake |=
		strcmp(found->sentence, attempt->sentence) != 0 ||
		(found->is_found && found->move_count == 0);
	attempt->planned_us = now.now_us;
	attempt->fruitless = found->is_found ? 0 : attempt->fruitless + 1;
	/* The same place again is the same plan, as long as nothing failed. */
	attempt->is_counted &= strcmp(found->node, attempt->node) == 0;
	attempt->freed_us = 0;
	attempt->refused_us = 0;
	attempt->why[0] = '\0';
}

/* A pod came to the place. The plan still leads there if no more moves are
 * needed than before. */
static bool has_lost_place(const struct attempt *attempt,
	const struct found_plan *found)
{
	size_t left = 0;

	for (size_t i = 0; i < attempt->move_count; i++) {
		left += attempt->moves[i].record.ordered_us == 0;
	}
	return attempt->is_doubted && attempt_has_plan(attempt) &&
		(!found->is_found || strcmp(found->node, attempt->node) != 0 ||
			found->move_count > left);
}

static void note_loss(struct make_room *room, struct attempt *attempt,
	struct moment now)
{
	const struct queued_pod *queued =
		queue_find(room->options.queue, attempt->uid);
	const struct pod *newcomer = cache_newcomer(room->options.cache,
		attempt->held_node, attempt->held_us);

	if (queued != NULL && queued->pod != NULL && newcomer != NULL) {
		make_room_lose_place(room, attempt, queued->pod, newcomer, now);
	}
}

/* Nothing speaks against the moves that are recommended, and the new ones are
 * not fewer. */
static bool keeps_plan(const struct make_room *room,
	const struct attempt *attempt, const struct found_plan *found,
	struct moment now)
{
	struct attempt_context context = make_room_context(room, now);

	return attempt->state == ATTEMPT_RECOMMENDED &&
		attempt->move_count > 0 && found->is_found &&
		attempt->move_count <= found->move_count &&
		(strcmp(found->node, attempt->node) == 0 ||
			room_pods_may_fit(attempt->refusal)) &&
		attempt_moves_could_begin(attempt, &context) &&
		cache_newcomer(room->options.cache, attempt->node,
			attempt->held_us) == NULL;
}

static void take(struct make_room *room, struct attempt *attempt,
	const struct found_plan *found, struct moment now)
{
	struct attempt_context context = make_room_context(room, now);

	note_search(room, attempt, found, now);
	if (strcmp(found->node, attempt->held_node) != 0) {
		make_room_release(room, attempt);
	}
	attempt->held_us = attempt->searched_us;
	attempt_moves_take(attempt, &context, found);
	attempt_moves_withdraw(&context, attempt->uid, attempt,
		found->is_found ? "another plan is better"
				: "no plan leads to room any more");
	/* The moves of an earlier leader's plan are under way. */
	if (attempt->plans == 0 && attempt_is_moving(attempt)) {
		attempt->plans = 1;
		attempt->is_counted = true;
	}
}

static void on_found(void *owner, const struct found_plan *found)
{
	struct attempt *attempt = owner;
	struct make_room *room = attempt->room;
	struct moment now = moment_now();

	attempt->search = NULL;
	/* The next tick starts it again, or drops the attempt. */
	if (found == NULL || !room->options.leads(room->options.owner)) {
		return;
	}
	if (keeps_plan(room, attempt, found, now)) {
		attempt->planned_us = now.now_us;
		attempt->why[0] = '\0';
		return;
	}
	if (has_lost_place(attempt, found)) {
		note_loss(room, attempt, now);
	}
	attempt->is_doubted = false;
	if (attempt->is_over) {
		make_room_drop(room, attempt);
	} else {
		take(room, attempt, found, now);
	}
}

/* VMs that came a moment ago may be moved soon. */
static int64_t interval(const struct attempt *attempt)
{
	int64_t us = FIRST_AGAIN_US;

	if (attempt->fruitless == 0) {
		return MAKE_ROOM_AGAIN_US;
	}
	for (unsigned i = 1; i < attempt->fruitless && us < MAKE_ROOM_AGAIN_US;
		i++) {
		us *= 2;
	}
	return us < MAKE_ROOM_AGAIN_US ? us : MAKE_ROOM_AGAIN_US;
}

/* An old plan may no longer hold, and a better one may exist. */
static bool is_due(const struct attempt *attempt, int64_t now_us)
{
	bool may_change = attempt->state == ATTEMPT_WITHOUT_PLAN ||
		attempt->state == ATTEMPT_RECOMMENDED ||
		attempt->move_count == 0 ||
		(attempt->state == ATTEMPT_MOVING && *attempt->why != '\0' &&
			!attempt_is_moving(attempt));

	return attempt->planned_us == 0 || attempt->is_doubted ||
		(may_change &&
			now_us - attempt->planned_us >= interval(attempt));
}

void make_room_search(struct make_room *room, struct attempt *attempt,
	struct pod *pod, struct moment now)
{
	if (attempt->search != NULL || !is_due(attempt, now.now_us)) {
		return;
	}
	if (*room->not_watching != '\0') {
		(void)snprintf(attempt->why, sizeof(attempt->why), "%s",
			room->not_watching);
		return;
	}
	attempt->searched_us = now.now_us;
	attempt->search = attempt_search_start(&(struct attempt_search_options){
		.planner = room->options.planner,
		.pod = pod,
		.done = on_found,
		.owner = attempt });
}
