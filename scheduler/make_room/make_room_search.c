#include "scheduler/make_room/make_room_private.h"

#include "scheduler/make_room/effort_search.h"

#include <stdio.h>
#include <string.h>

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
	/* The same place again is the same plan, as long as nothing failed. */
	effort->is_counted &= strcmp(found->node, effort->node) == 0;
	effort->freed_us = 0;
	effort->refused_us = 0;
	effort->why[0] = '\0';
}

static void on_found(void *owner, const struct found_plan *found)
{
	struct effort *effort = owner;
	struct make_room *room = effort->room;
	struct moment now = moment_now();
	struct effort_context context = make_room_context(room, now);

	effort->search = NULL;
	/* The next tick starts it again, or drops the effort. */
	if (found == NULL || !room->options.leads(room->options.owner)) {
		return;
	}
	note_search(room, effort, found, now);
	if (strcmp(found->node, effort->held_node) != 0) {
		make_room_release(room, effort);
	}
	effort->held_us = effort->searched_us;
	effort_moves_take(effort, &context, found);
	effort_moves_withdraw(&context, effort->uid, effort,
		"another plan is better");
	/* The moves of an earlier leader's plan are under way. */
	if (effort->plans == 0 && effort_is_moving(effort)) {
		effort->plans = 1;
		effort->is_counted = true;
	}
}

/* An old plan may no longer hold, and a better one may exist. */
static bool is_due(const struct effort *effort, int64_t now_us)
{
	bool may_change = effort->state == EFFORT_WITHOUT_PLAN ||
		effort->state == EFFORT_RECOMMENDED ||
		effort->move_count == 0 ||
		(effort->state == EFFORT_MOVING && *effort->why != '\0' &&
			!effort_is_moving(effort));

	return effort->planned_us == 0 ||
		(may_change &&
			now_us - effort->planned_us >= MAKE_ROOM_AGAIN_US);
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
