#include "scheduler/make_room/make_room_private.h"

#include "lib/log.h"
#include "lib/memory.h"
#include "scheduler/bind/events.h"
#include "scheduler/cache/queue.h"
#include "scheduler/make_room/effort_search.h"
#include "scheduler/make_room/hold.h"
#include "scheduler/make_room/room_pods.h"
#include "scheduler/make_room/room_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A pod that still does not fit is tried again this often, because the room of
 * a VM that left is measured a little later, and this long. */
#define TRY_AGAIN_US INT64_C(5000000)
#define PLACE_US INT64_C(30000000)

struct effort_context make_room_context(const struct make_room *room,
	struct moment now)
{
	return (struct effort_context){ room->parts, room->options.cache, now };
}

/* ---- what people are told ---- */

static void tell(struct make_room *room, const struct pod *pod,
	const struct events_pod *event, struct moment now)
{
	log_info("making room", log_str("event", event->reason),
		log_str("namespace", pod->namespace), log_str("pod", pod->name),
		log_str("note", event->note), LOG_END);
	events_about_pod(room->options.events, pod, event, now.now_us);
}

static void wake(struct make_room *room, struct effort *effort, int64_t now_us)
{
	effort->wants_wake = false;
	effort->woken_us = now_us;
	room->options.wake(room->options.owner, effort->uid);
}

/* Others may take what the pod does not get. */
static void release(struct make_room *room, struct effort *effort)
{
	if (hold_release(effort, room->options.cache)) {
		queue_wake_all(room->options.queue);
	}
}

static void set_state(struct effort *effort, enum effort_state state)
{
	effort->wants_wake |= effort->state != state;
	effort->state = state;
}

/* Level with what is held. A name that somebody else wrote stays. */
static void nominate(struct make_room *room, struct effort *effort,
	const struct pod *pod)
{
	const char *node = effort->is_holding ? effort->node : "";

	if (strcmp(node, effort->nominated) != 0) {
		(void)snprintf(effort->nominated, sizeof(effort->nominated),
			"%s", node);
		room->options.nominate(room->options.owner, pod, node);
	}
}

/* ---- the ends ---- */

void make_room_drop(struct make_room *room, struct effort *effort)
{
	efforts_take(&room->efforts, effort);
	effort_search_forget(effort->search);
	(void)hold_release(effort, room->options.cache);
	free(effort);
}

/* The pod is placed, or gone. Ordered moves go on. */
static void end(struct make_room *room, struct effort *effort, const char *why,
	struct moment now)
{
	struct effort_context context = make_room_context(room, now);

	effort_moves_withdraw(&context, effort->uid, NULL, why);
	release(room, effort);
	make_room_drop(room, effort);
}

static void end_with_queue(struct make_room *room, struct effort *effort,
	struct moment now)
{
	const struct pod *pod = cache_pod(room->options.cache, effort->uid);

	if (pod == NULL) {
		end(room, effort, "the pod is gone", now);
		return;
	}
	if (effort->has_orders) {
		room->made++;
		log_info("room was made", log_str("namespace", pod->namespace),
			log_str("pod", pod->name),
			log_str("node", pod->node_name), LOG_END);
	}
	end(room, effort, "the pod is placed", now);
}

static void give_up(struct make_room *room, struct effort *effort,
	const struct pod *pod, const char *why, struct moment now)
{
	scoped_free char *text = xasprintf("gave up: %s", why);
	struct given_up_pod rests = { .priority = pod->priority,
		.until_us = now.now_us + MAKE_ROOM_REST_US,
		.wall_us = now.wall_us };

	(void)snprintf(rests.uid, sizeof(rests.uid), "%s", pod->uid);
	(void)snprintf(rests.namespace, sizeof(rests.namespace), "%s",
		pod->namespace);
	(void)snprintf(rests.name, sizeof(rests.name), "%s", pod->name);
	(void)snprintf(rests.why, sizeof(rests.why), "%s", why);
	given_up_add(&room->given_up, &rests);
	room->given_up_count++;
	tell(room, pod,
		&(struct events_pod){ "MakingRoom", "RoomGivenUp", why, true },
		now);
	release(room, effort);
	nominate(room, effort, pod);
	wake(room, effort, now.now_us);
	end(room, effort, text, now);
}

/* The plan does not lead to its end. Another one may. */
static void lose_plan(struct make_room *room, struct effort *effort,
	const struct pod *pod, const char *why, struct moment now)
{
	scoped_free char *text = NULL;

	if (effort->plans >= MAKE_ROOM_PLANS) {
		give_up(room, effort, pod, why, now);
		return;
	}
	text = xasprintf("%s; another plan is being made", why);
	tell(room, pod,
		&(struct events_pod){ "MakingRoom", "RoomLost", text, true },
		now);
	effort_keep_open(effort);
	effort->node[0] = '\0';
	effort->planned_us = 0;
	effort->freed_us = 0;
	effort->refused_us = 0;
	(void)snprintf(effort->why, sizeof(effort->why), "%s", why);
}

/* ---- the search ---- */

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
	effort->is_counted = false;
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
	if (found == NULL) {
		return; /* the next tick starts it again */
	}
	note_search(room, effort, found, now);
	if (strcmp(found->node, effort->node) != 0) {
		release(room, effort);
	}
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

static void search(struct make_room *room, struct effort *effort,
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
	effort->search = effort_search_start(&(
		struct effort_search_options){ .planner = room->options.planner,
		.pod = pod,
		.done = on_found,
		.owner = effort });
}

/* ---- the moves ---- */

static void recommend(struct make_room *room, struct effort *effort,
	const struct pod *pod, struct moment now)
{
	struct effort_context context = make_room_context(room, now);

	set_state(effort, EFFORT_RECOMMENDED);
	release(room, effort);
	nominate(room, effort, pod);
	if (effort_moves_recommend(effort, &context)) {
		tell(room, pod,
			&(struct events_pod){ "MakingRoom", "RoomRecommended",
				effort->sentence, false },
			now);
	}
}

static bool has_more(const struct effort *effort)
{
	for (size_t i = 0; i < effort->move_count; i++) {
		if (effort->moves[i].record.ordered_us == 0) {
			return true;
		}
	}
	return false;
}

static void order(struct make_room *room, struct effort *effort,
	const struct pod *pod, struct moment now)
{
	struct effort_context context = make_room_context(room, now);

	if (!effort_moves_order(effort, &context)) {
		return;
	}
	effort->has_orders = true;
	if (!effort->is_counted) {
		effort->is_counted = true;
		effort->plans++;
		tell(room, pod,
			&(struct events_pod){ "MakingRoom", "MakingRoom",
				effort->sentence, false },
			now);
	}
}

/* The moves are done, and the pod does not fit. */
static void judge_place(struct make_room *room, struct effort *effort,
	const struct pod *pod, struct moment now)
{
	scoped_buffer struct buffer why = BUFFER_MAX(EFFORT_WHY_MAX);
	const struct pod *taker = NULL;

	if (effort->refused_us >= effort->freed_us &&
		!room_pods_waits_for_data(effort->refusal)) {
		taker = cache_newcomer(room->options.cache, effort->node,
			effort->held_us);
	}
	if (taker != NULL) {
		room->lost++;
		room_words_taken(&why, effort, taker);
	} else if (effort->refused_us > effort->freed_us + PLACE_US) {
		buffer_printf(&why,
			"the moves are done, and the pod does not fit on %s",
			effort->node);
	} else if (now.now_us - effort->woken_us >= TRY_AGAIN_US) {
		effort->wants_wake = true;
	}
	if (why.len > 0) {
		lose_plan(room, effort, pod, why.data, now);
	}
}

/* The last of its actions may end the effort. */
static void move(struct make_room *room, struct effort *effort, struct pod *pod,
	struct moment now)
{
	struct effort_context context = make_room_context(room, now);

	if (!effort->is_counted && effort->plans >= MAKE_ROOM_PLANS &&
		has_more(effort)) {
		give_up(room, effort, pod, "two plans did not make room", now);
		return;
	}
	order(room, effort, pod, now);
	if (effort_may_hold(effort)) {
		hold_put(effort, room->options.cache, pod, now.now_us);
	}
	if (effort->began_us == 0 &&
		(effort->is_holding || effort->has_orders)) {
		effort->began_us = now.now_us;
	}
	nominate(room, effort, pod);
	if (effort->move_count > 0 && !effort_is_done(effort)) {
		set_state(effort, EFFORT_MOVING);
		return;
	}
	set_state(effort, EFFORT_WAITING);
	if (effort->move_count == 0 ||
		!effort_moves_have_left(effort, &context)) {
		return;
	}
	if (effort->freed_us == 0) {
		effort->freed_us = now.now_us;
		effort->wants_wake = true;
	}
	judge_place(room, effort, pod, now);
}

/* ---- one effort ---- */

static void stay_without_plan(struct make_room *room, struct effort *effort,
	const struct pod *pod)
{
	if (effort->planned_us != 0) {
		release(room, effort);
		nominate(room, effort, pod);
		set_state(effort, EFFORT_WITHOUT_PLAN);
	} else {
		set_state(effort, EFFORT_PLANNING);
	}
}

static bool is_too_late(const struct make_room *room,
	const struct effort *effort, int64_t now_us)
{
	return effort->began_us != 0 && room->options.mode == MOVER_AUTOMATIC &&
		now_us - effort->began_us > room->options.timeout_us;
}

/* A begun effort goes on, also while orders are refused for a while. */
static bool makes_room(const struct make_room *room,
	const struct effort *effort)
{
	return room->is_automatic ||
		(effort->began_us != 0 &&
			room->options.mode == MOVER_AUTOMATIC);
}

static void tell_timeout(struct make_room *room, struct effort *effort,
	const struct pod *pod, struct moment now)
{
	scoped_free char *why =
		xasprintf("the pod did not start within %lld s%s%s",
			(long long)(room->options.timeout_us / 1000000),
			*effort->why == '\0' ? "" : ": ", effort->why);

	give_up(room, effort, pod, why, now);
}

static void follow(struct make_room *room, struct effort *effort,
	struct pod *pod, struct moment now)
{
	const struct move_book *book = &room->parts.journal->book;
	scoped_buffer struct buffer why = BUFFER_MAX(EFFORT_WHY_MAX);
	const struct move_record *failed;

	effort_sync(effort, book);
	if (makes_room(room, effort)) {
		effort_moves_adopt(effort, book);
	}
	failed = effort_failed_move(effort);
	if (is_too_late(room, effort, now.now_us)) {
		tell_timeout(room, effort, pod, now);
	} else if (failed != NULL) {
		room_words_failed(&why, failed);
		lose_plan(room, effort, pod, why.data, now);
	} else if (!effort_has_plan(effort)) {
		stay_without_plan(room, effort, pod);
	} else if (makes_room(room, effort)) {
		move(room, effort, pod, now);
	} else {
		recommend(room, effort, pod, now);
	}
}

void make_room_follow(struct make_room *room, struct effort *effort,
	struct moment now)
{
	scoped_free char *uid = xstrdup(effort->uid);
	struct queued_pod *queued = queue_find(room->options.queue, uid);

	if (queued == NULL) {
		end_with_queue(room, effort, now);
		return;
	}
	if (queued->pod == NULL) {
		effort->state = EFFORT_BINDING;
		return;
	}
	if (queued->pod->generation != effort->generation) {
		end(room, effort, "the pod was changed", now);
		return;
	}
	follow(room, effort, queued->pod, now);
	if (efforts_find(&room->efforts, uid) != effort) {
		return; /* it was given up */
	}
	search(room, effort, queued->pod, now);
	if (effort->wants_wake) {
		wake(room, effort, now.now_us);
	}
}
