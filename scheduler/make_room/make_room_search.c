#include "scheduler/make_room/make_room_private.h"

#include "scheduler/cache/queue.h"
#include "scheduler/make_room/effort_search.h"
#include "scheduler/make_room/room_pods.h"

#include <stdio.h>
#include <string.h>

/* Without a plan the search is repeated after this, then twice as late each
 * time, until MAKE_ROOM_AGAIN_US. */
#define FIRST_AGAIN_US INT64_C(10000000)

static void note_search(struct make_room *room, struct effort *effort,
	const struct found_plan *found, struct moment now)
{
	if (!found->is_found && effort->state != EFFORT_WITHOUT_PLAN) {
		room->without_plan++;
	}
	if (found->is_found && effort->state == EFFORT_WITHOUT_PLAN) {
		effort->state = EFFORT_PLANNING; /* until the next tick */
	}
	/* A plan without moves waits for VMs that are leaving. */
	effort->wants_wake |= strcmp(found->sentence, effort->sentence) != 0 ||
		(found->is_found && found->move_count == 0);
	effort->planned_us = now.now_us;
	effort->fruitless = found->is_found ? 0 : effort->fruitless + 1;
	/* The same place again is the same plan, as long as nothing failed. */
	effort->is_counted &= strcmp(found->node, effort->node) == 0;
	effort->freed_us = 0;
	effort->refused_us = 0;
	effort->why[0] = '\0';
}

/* A pod came to the place. The plan still leads there if no more moves are
 * needed than before. */
static bool has_lost_place(const struct effort *effort,
	const struct found_plan *found)
{
	size_t left = 0;

	for (size_t i = 0; i < effort->move_count; i++) {
		left += effort->moves[i].record.ordered_us == 0;
	}
	return effort->is_doubted && effort_has_plan(effort) &&
		(!found->is_found || strcmp(found->node, effort->node) != 0 ||
			found->move_count > left);
}

static void note_loss(struct make_room *room, struct effort *effort,
	struct moment now)
{
	const struct queued_pod *queued =
		queue_find(room->options.queue, effort->uid);
	const struct pod *taker = cache_newcomer(room->options.cache,
		effort->held_node, effort->held_us);

	if (queued != NULL && queued->pod != NULL && taker != NULL) {
		make_room_lose_place(room, effort, queued->pod, taker, now);
	}
}

/* Nothing speaks against the moves that are recommended, and the new ones are
 * not fewer. */
static bool keeps_plan(const struct make_room *room,
	const struct effort *effort, const struct found_plan *found,
	struct moment now)
{
	struct effort_context context = make_room_context(room, now);

	return effort->state == EFFORT_RECOMMENDED && effort->move_count > 0 &&
		found->is_found && effort->move_count <= found->move_count &&
		(strcmp(found->node, effort->node) == 0 ||
			room_pods_may_fit(effort->refusal)) &&
		effort_moves_could_begin(effort, &context) &&
		cache_newcomer(room->options.cache, effort->node,
			effort->held_us) == NULL;
}

static void take(struct make_room *room, struct effort *effort,
	const struct found_plan *found, struct moment now)
{
	struct effort_context context = make_room_context(room, now);

	note_search(room, effort, found, now);
	if (strcmp(found->node, effort->held_node) != 0) {
		make_room_release(room, effort);
	}
	effort->held_us = effort->searched_us;
	effort_moves_take(effort, &context, found);
	effort_moves_withdraw(&context, effort->uid, effort,
		found->is_found ? "another plan is better"
				: "no plan leads to room any more");
	/* The moves of an earlier leader's plan are under way. */
	if (effort->plans == 0 && effort_is_moving(effort)) {
		effort->plans = 1;
		effort->is_counted = true;
	}
}

static void on_found(void *owner, const struct found_plan *found)
{
	struct effort *effort = owner;
	struct make_room *room = effort->room;
	struct moment now = moment_now();

	effort->search = NULL;
	/* The next tick starts it again, or drops the effort. */
	if (found == NULL || !room->options.leads(room->options.owner)) {
		return;
	}
	if (keeps_plan(room, effort, found, now)) {
		effort->planned_us = now.now_us;
		effort->why[0] = '\0';
		return;
	}
	if (has_lost_place(effort, found)) {
		note_loss(room, effort, now);
	}
	effort->is_doubted = false;
	if (effort->is_over) {
		make_room_drop(room, effort);
	} else {
		take(room, effort, found, now);
	}
}

/* VMs that came a moment ago may be moved soon. */
static int64_t interval(const struct effort *effort)
{
	int64_t us = FIRST_AGAIN_US;

	if (effort->fruitless == 0) {
		return MAKE_ROOM_AGAIN_US;
	}
	for (unsigned i = 1; i < effort->fruitless && us < MAKE_ROOM_AGAIN_US;
		i++) {
		us *= 2;
	}
	return us < MAKE_ROOM_AGAIN_US ? us : MAKE_ROOM_AGAIN_US;
}

/* An old plan may no longer hold, and a better one may exist. */
static bool is_due(const struct effort *effort, int64_t now_us)
{
	bool may_change = effort->state == EFFORT_WITHOUT_PLAN ||
		effort->state == EFFORT_RECOMMENDED ||
		effort->move_count == 0 ||
		(effort->state == EFFORT_MOVING && *effort->why != '\0' &&
			!effort_is_moving(effort));

	return effort->planned_us == 0 || effort->is_doubted ||
		(may_change && now_us - effort->planned_us >= interval(effort));
}

void make_room_search(struct make_room *room, struct effort *effort,
	struct pod *pod, struct moment now)
{
	if (effort->search != NULL || !is_due(effort, now.now_us)) {
		return;
	}
	if (*room->not_watching != '\0') {
		(void)snprintf(effort->why, sizeof(effort->why), "%s",
			room->not_watching);
		return;
	}
	effort->searched_us = now.now_us;
	effort->search = effort_search_start(&(
		struct effort_search_options){ .planner = room->options.planner,
		.pod = pod,
		.done = on_found,
		.owner = effort });
}
