#include "scheduler/make_room/make_room_private.h"

#include "lib/log.h"
#include "lib/memory.h"
#include "scheduler/bind/events.h"
#include "scheduler/cache/queue.h"
#include "scheduler/make_room/hold.h"
#include "scheduler/make_room/room_pods.h"
#include "scheduler/make_room/room_words.h"

#include <string.h>

/* A pod that still does not fit is tried again this often, because the room of
 * a VM that left is measured a little later, and this long. */
#define TRY_AGAIN_US INT64_C(5000000)
#define PLACE_US INT64_C(30000000)

/* A plan is not doubted for this long, so that pods that come all the time do
 * not hold up its moves. */
#define DOUBT_US INT64_C(2000000)

static void set_state(struct effort *effort, enum effort_state state)
{
	effort->wants_wake |= effort->state != state;
	effort->state = state;
}

/* ---- the moves ---- */

static void recommend(struct make_room *room, struct effort *effort,
	const struct pod *pod, struct moment now)
{
	struct effort_context context = make_room_context(room, now);

	set_state(effort, EFFORT_RECOMMENDED);
	make_room_release(room, effort);
	make_room_nominate(room, effort, pod, now);
	if (effort_moves_recommend(effort, &context)) {
		make_room_tell(room, pod,
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

/* Another pod came to the place since the plan was made. A search says whether
 * the plan still leads there, before more is done for it. */
static void doubt(const struct make_room *room, struct effort *effort,
	int64_t now_us)
{
	bool may_be_lost = effort->is_holding &&
		(effort->move_count == 0 || has_more(effort)) &&
		now_us - effort->planned_us >= DOUBT_US;

	effort->is_doubted |= may_be_lost &&
		cache_newcomer(room->options.cache, effort->held_node,
			effort->held_us) != NULL;
}

static void order(struct make_room *room, struct effort *effort,
	const struct pod *pod, struct moment now)
{
	struct effort_context context = make_room_context(room, now);

	/* The search may find another use for the VM. */
	if (effort->search != NULL || effort->is_doubted ||
		!effort_moves_order(effort, &context)) {
		return;
	}
	effort->has_orders = true;
	if (!effort->is_counted) {
		effort->is_counted = true;
		effort->plans++;
		make_room_tell(room, pod,
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
		make_room_lose_place(room, effort, pod, taker, now);
		return;
	}
	if (effort->refused_us > effort->freed_us + PLACE_US) {
		buffer_printf(&why,
			"the moves are done, and the pod does not fit on %s",
			effort->node);
	} else if (now.now_us - effort->woken_us >= TRY_AGAIN_US) {
		effort->wants_wake = true;
	}
	if (why.len > 0) {
		make_room_lose_plan(room, effort, pod, why.data, now);
	}
}

/* The last of its actions may end the effort. */
static void move(struct make_room *room, struct effort *effort, struct pod *pod,
	struct moment now)
{
	struct effort_context context = make_room_context(room, now);

	if (!effort->is_counted && effort->plans >= MAKE_ROOM_PLANS &&
		has_more(effort)) {
		make_room_give_up(room, effort, pod,
			"two plans did not make room", now);
		return;
	}
	doubt(room, effort, now.now_us);
	order(room, effort, pod, now);
	/* As long as nothing may be ordered, others may use the place. */
	if (effort_may_hold(effort) &&
		(effort->has_orders || effort->move_count == 0)) {
		hold_put(effort, room->options.cache, pod, effort->node,
			now.now_us);
	}
	if (effort->began_us == 0 &&
		(effort->is_holding || effort->has_orders)) {
		effort->began_us = now.now_us;
	}
	make_room_nominate(room, effort, pod, now);
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

static void end_with_queue(struct make_room *room, struct effort *effort,
	struct moment now)
{
	const struct pod *pod = cache_pod(room->options.cache, effort->uid);

	if (pod == NULL) {
		make_room_end(room, effort, "the pod is gone", now);
		return;
	}
	if (effort->has_orders &&
		strcmp(effort->placed_on, effort->held_node) == 0) {
		room->made++;
		log_info("room was made", log_str("namespace", pod->namespace),
			log_str("pod", pod->name),
			log_str("node", effort->placed_on), LOG_END);
	}
	make_room_end(room, effort, "the pod is placed", now);
}

static void stay_without_plan(struct make_room *room, struct effort *effort,
	const struct pod *pod, struct moment now)
{
	if (effort->planned_us != 0) {
		make_room_release(room, effort);
		make_room_nominate(room, effort, pod, now);
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

	make_room_give_up(room, effort, pod, why, now);
}

static void follow(struct make_room *room, struct effort *effort,
	struct pod *pod, struct moment now)
{
	const struct move_records *records =
		move_actions_records(room->actions);
	scoped_buffer struct buffer why = BUFFER_MAX(EFFORT_WHY_MAX);
	const struct move_record *failed;

	effort_sync(effort, records);
	if (makes_room(room, effort)) {
		effort_moves_restore(effort, records);
	}
	failed = effort_failed_move(effort);
	if (is_too_late(room, effort, now.now_us)) {
		tell_timeout(room, effort, pod, now);
	} else if (failed != NULL) {
		room_words_failed(&why, failed);
		make_room_lose_plan(room, effort, pod, why.data, now);
	} else if (!effort_has_plan(effort)) {
		stay_without_plan(room, effort, pod, now);
	} else if (makes_room(room, effort)) {
		move(room, effort, pod, now);
	} else {
		recommend(room, effort, pod, now);
	}
}

/* The pod waits for a node. */
static void follow_waiting(struct make_room *room, struct effort *effort,
	struct pod *pod, struct moment now)
{
	if (pod->generation != effort->generation) {
		make_room_end(room, effort, "the pod was changed", now);
		make_room_nominate(room, effort, pod, now);
		return;
	}
	follow(room, effort, pod, now);
	if (effort->is_over) {
		return;
	}
	make_room_search(room, effort, pod, now);
	if (effort->wants_wake) {
		make_room_wake(room, effort, now.now_us);
	}
}

void make_room_follow(struct make_room *room, struct effort *effort,
	struct moment now)
{
	struct queued_pod *queued =
		queue_find(room->options.queue, effort->uid);

	if (queued == NULL) {
		end_with_queue(room, effort, now);
	} else if (queued->pod == NULL) {
		effort->state = EFFORT_BINDING;
	} else {
		follow_waiting(room, effort, queued->pod, now);
	}
	if (effort->is_over) {
		make_room_drop(room, effort);
	}
}
