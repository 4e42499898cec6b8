#include "scheduler/make_room/attempt.h"

#include "lib/memory.h"

#include <stdio.h>
#include <string.h>

const char *attempt_state_name(enum attempt_state state)
{
	static const char *const names[ATTEMPT_STATES] = {
		[ATTEMPT_PLANNING] = "planning",
		[ATTEMPT_WITHOUT_PLAN] = "without_plan",
		[ATTEMPT_RECOMMENDED] = "recommended",
		[ATTEMPT_MOVING] = "moving",
		[ATTEMPT_WAITING] = "waiting_for_the_place",
		[ATTEMPT_BINDING] = "binding",
	};

	return names[state];
}

bool attempt_has_plan(const struct attempt *attempt)
{
	return *attempt->node != '\0';
}

bool attempt_is_moving(const struct attempt *attempt)
{
	for (size_t i = 0; i < attempt->move_count; i++) {
		if (move_is_open(&attempt->moves[i].record)) {
			return true;
		}
	}
	return false;
}

static bool was_ordered(const struct move_record *record)
{
	return record->ordered_us != 0;
}

const struct move_record *attempt_failed_move(const struct attempt *attempt)
{
	for (size_t i = 0; i < attempt->move_count; i++) {
		const struct move_record *record = &attempt->moves[i].record;

		if (was_ordered(record) &&
			(record->state == MOVE_FAILED ||
				record->state == MOVE_WITHDRAWN)) {
			return record;
		}
	}
	return NULL;
}

bool attempt_is_done(const struct attempt *attempt)
{
	for (size_t i = 0; i < attempt->move_count; i++) {
		if (attempt->moves[i].record.state != MOVE_SUCCEEDED) {
			return false;
		}
	}
	return attempt->move_count > 0;
}

bool attempt_may_hold(const struct attempt *attempt)
{
	for (size_t i = 0; i < attempt->move_count; i++) {
		const struct move_record *record = &attempt->moves[i].record;

		if (record->state != MOVE_SUCCEEDED &&
			strcmp(record->target, attempt->node) == 0) {
			return false;
		}
	}
	return attempt_has_plan(attempt);
}

void attempt_keep_open(struct attempt *attempt)
{
	size_t kept = 0;

	for (size_t i = 0; i < attempt->move_count; i++) {
		if (move_is_open(&attempt->moves[i].record)) {
			attempt->moves[kept++] = attempt->moves[i];
		}
	}
	attempt->move_count = kept;
}

void attempt_sync(struct attempt *attempt, const struct move_records *records)
{
	for (size_t i = 0; i < attempt->move_count; i++) {
		struct move_record *ours = &attempt->moves[i].record;
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

struct attempt *attempts_find(const struct attempts *attempts, const char *uid)
{
	for (size_t i = 0; i < attempts->count; i++) {
		if (strcmp(attempts->list[i]->uid, uid) == 0) {
			return attempts->list[i];
		}
	}
	return NULL;
}

void attempts_take(struct attempts *attempts, const struct attempt *attempt)
{
	size_t i = 0;

	while (i < attempts->count && attempts->list[i] != attempt) {
		i++;
	}
	if (i < attempts->count) {
		attempts->count--;
		memmove(&attempts->list[i], &attempts->list[i + 1],
			(attempts->count - i) * sizeof(struct attempt *));
	}
}

static bool gives_way(const struct attempt *attempt, int32_t priority,
	int64_t now_us)
{
	if (attempt->began_us != 0 || attempt->priority > priority) {
		return false;
	}
	return attempt->priority < priority ||
		(attempt->planned_us != 0 &&
			attempt->state != ATTEMPT_RECOMMENDED &&
			now_us - attempt->since_us >= ATTEMPT_TURN_US);
}

/* The oldest of the least urgent attempts that give way; NULL: none does. */
static struct attempt *displaceable(const struct attempts *attempts,
	int32_t priority, int64_t now_us)
{
	struct attempt *found = NULL;

	for (size_t i = attempts->count; i > 0; i--) {
		struct attempt *attempt = attempts->list[i - 1];

		if (found != NULL && attempt->priority > found->priority) {
			break;
		}
		if (gives_way(attempt, priority, now_us)) {
			found = attempt;
		}
	}
	return found;
}

static void insert(struct attempts *attempts, struct attempt *attempt)
{
	size_t i = attempts->count++;

	while (i > 0 && attempts->list[i - 1]->priority < attempt->priority) {
		attempts->list[i] = attempts->list[i - 1];
		i--;
	}
	attempts->list[i] = attempt;
}

struct attempt *attempts_add(struct attempts *attempts, const struct pod *pod,
	int64_t now_us, struct attempt **displaced)
{
	struct attempt *attempt;

	*displaced = NULL;
	if (attempts->count == MAKE_ROOM_ATTEMPTS_MAX) {
		*displaced = displaceable(attempts, pod->priority, now_us);
		if (*displaced == NULL) {
			return NULL;
		}
		attempts_take(attempts, *displaced);
	}
	attempt = xcalloc(1, sizeof(*attempt));
	(void)snprintf(attempt->uid, sizeof(attempt->uid), "%s", pod->uid);
	(void)snprintf(attempt->namespace, sizeof(attempt->namespace), "%s",
		pod->namespace);
	(void)snprintf(attempt->name, sizeof(attempt->name), "%s", pod->name);
	attempt->since_us = now_us;
	attempt->priority = pod->priority;
	attempt->generation = pod->generation;
	insert(attempts, attempt);
	return attempt;
}
