#include "scheduler/make_room/effort.h"

#include "lib/memory.h"

#include <stdio.h>
#include <string.h>

const char *effort_state_name(enum effort_state state)
{
	static const char *const names[EFFORT_STATES] = {
		[EFFORT_PLANNING] = "planning",
		[EFFORT_WITHOUT_PLAN] = "without_plan",
		[EFFORT_RECOMMENDED] = "recommended",
		[EFFORT_MOVING] = "moving",
		[EFFORT_WAITING] = "waiting_for_the_place",
		[EFFORT_BINDING] = "binding",
	};

	return names[state];
}

bool effort_has_plan(const struct effort *effort)
{
	return *effort->node != '\0';
}

bool effort_is_moving(const struct effort *effort)
{
	for (size_t i = 0; i < effort->move_count; i++) {
		if (move_is_open(&effort->moves[i].record)) {
			return true;
		}
	}
	return false;
}

static bool was_ordered(const struct move_record *record)
{
	return record->ordered_us != 0;
}

const struct move_record *effort_failed_move(const struct effort *effort)
{
	for (size_t i = 0; i < effort->move_count; i++) {
		const struct move_record *record = &effort->moves[i].record;

		if (was_ordered(record) &&
			(record->state == MOVE_FAILED ||
				record->state == MOVE_WITHDRAWN)) {
			return record;
		}
	}
	return NULL;
}

bool effort_is_done(const struct effort *effort)
{
	for (size_t i = 0; i < effort->move_count; i++) {
		if (effort->moves[i].record.state != MOVE_SUCCEEDED) {
			return false;
		}
	}
	return effort->move_count > 0;
}

bool effort_may_hold(const struct effort *effort)
{
	for (size_t i = 0; i < effort->move_count; i++) {
		const struct move_record *record = &effort->moves[i].record;

		if (record->state != MOVE_SUCCEEDED &&
			strcmp(record->target, effort->node) == 0) {
			return false;
		}
	}
	return effort_has_plan(effort);
}

void effort_keep_open(struct effort *effort)
{
	size_t kept = 0;

	for (size_t i = 0; i < effort->move_count; i++) {
		if (move_is_open(&effort->moves[i].record)) {
			effort->moves[kept++] = effort->moves[i];
		}
	}
	effort->move_count = kept;
}

void effort_sync(struct effort *effort, const struct move_records *records)
{
	for (size_t i = 0; i < effort->move_count; i++) {
		struct move_record *ours = &effort->moves[i].record;
		const struct move_record *record = *ours->id == '\0'
			? NULL
			: move_records_find(records, ours->id);

		if (record != NULL) {
			*ours = *record;
		} else if (!was_ordered(ours)) {
			ours->id[0] = '\0';
		} else if (move_is_open(ours)) {
			ours->state = MOVE_WITHDRAWN;
		}
	}
}

/* ---- the list ---- */

struct effort *efforts_find(const struct efforts *efforts, const char *uid)
{
	for (size_t i = 0; i < efforts->count; i++) {
		if (strcmp(efforts->list[i]->uid, uid) == 0) {
			return efforts->list[i];
		}
	}
	return NULL;
}

void efforts_take(struct efforts *efforts, const struct effort *effort)
{
	size_t i = 0;

	while (i < efforts->count && efforts->list[i] != effort) {
		i++;
	}
	if (i < efforts->count) {
		efforts->count--;
		memmove(&efforts->list[i], &efforts->list[i + 1],
			(efforts->count - i) * sizeof(struct effort *));
	}
}

static bool gives_way(const struct effort *effort, int32_t priority,
	int64_t now_us)
{
	if (effort->began_us != 0 || effort->priority > priority) {
		return false;
	}
	return effort->priority < priority ||
		(effort->planned_us != 0 &&
			effort->state != EFFORT_RECOMMENDED &&
			now_us - effort->since_us >= EFFORT_TURN_US);
}

/* The oldest of the least urgent efforts that give way; NULL: none does. */
static struct effort *displaceable(const struct efforts *efforts,
	int32_t priority, int64_t now_us)
{
	struct effort *found = NULL;

	for (size_t i = efforts->count; i > 0; i--) {
		struct effort *effort = efforts->list[i - 1];

		if (found != NULL && effort->priority > found->priority) {
			break;
		}
		if (gives_way(effort, priority, now_us)) {
			found = effort;
		}
	}
	return found;
}

static void insert(struct efforts *efforts, struct effort *effort)
{
	size_t i = efforts->count++;

	while (i > 0 && efforts->list[i - 1]->priority < effort->priority) {
		efforts->list[i] = efforts->list[i - 1];
		i--;
	}
	efforts->list[i] = effort;
}

struct effort *efforts_add(struct efforts *efforts, const struct pod *pod,
	int64_t now_us, struct effort **displaced)
{
	struct effort *effort;

	*displaced = NULL;
	if (efforts->count == MAKE_ROOM_EFFORTS_MAX) {
		*displaced = displaceable(efforts, pod->priority, now_us);
		if (*displaced == NULL) {
			return NULL;
		}
		efforts_take(efforts, *displaced);
	}
	effort = xcalloc(1, sizeof(*effort));
	(void)snprintf(effort->uid, sizeof(effort->uid), "%s", pod->uid);
	(void)snprintf(effort->namespace, sizeof(effort->namespace), "%s",
		pod->namespace);
	(void)snprintf(effort->name, sizeof(effort->name), "%s", pod->name);
	effort->since_us = now_us;
	effort->priority = pod->priority;
	effort->generation = pod->generation;
	insert(efforts, effort);
	return effort;
}
