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

static void set_state(struct attempt *attempt, enum attempt_state state)
{
	attempt->wants_wake |= attempt->state != state;
	attempt->state = state;
}

/* ---- the moves ---- */

static void recommend(struct make_room *room, struct attempt *attempt,
	const struct pod *pod, struct moment now)
{
	struct attempt_context context = make_room_context(room, now);

	set_state(attempt, ATTEMPT_RECOMMENDED);
	make_room_release(room, attempt);
	make_room_nominate(room, attempt, pod, now);
	if (attempt_moves_recommend(attempt, &context)) {
		make_room_tell(room, pod,
			&(struct events_pod){ "MakingRoom", "RoomRecommended",
				attempt->sentence, false },
			now);
	}
}

static bool has_more(const struct attempt *attempt)
{
	for (size_t i = 0; i < attempt->move_count; i++) {
		if (attempt->moves[i].record.ordered_us == 0) {
			return true;
		}
	}
	return false;
}

/* Another pod came to the place since the plan was made. A search says whether
 * the plan still leads there, before more is done for it. */
static void doubt(const struct make_room *room, struct attempt *attempt,
	int64_t now_us)
{
	bool may_be_lost = attempt->is_holding &&
		(attempt->move_count == 0 || has_more(attempt)) &&
		now_us - attempt->planned_us >= DOUBT_US;

	attempt->is_doubted |= may_be_lost &&
		cache_newcomer(room->options.cache, attempt->held_node,
			attempt->held_us) != NULL;
}

static void order(struct make_room *room, struct attempt *attempt,
	const struct pod *pod, struct moment now)
{
	struct attempt_context context = make_room_context(room, now);

	/* The search may find another use for the VM. */
	if (attempt->search != NULL || attempt->is_doubted ||
		!attempt_moves_order(attempt, &context)) {
		return;
	}
	attempt->has_orders = true;
	if (!attempt->is_counted) {
		attempt->is_counted = true;
		attempt->plans++;
		make_room_tell(room, pod,
			&(struct events_pod){ "MakingRoom", "MakingRoom",
				attempt->sentence, false },
			now);
	}
}

/* The moves are done, and the pod does not fit. */
static void judge_place(struct make_room *room, struct attempt *attempt,
	const struct pod *pod, struct moment now)
{
	scoped_buffer struct buffer why = BUFFER_MAX(ATTEMPT_WHY_MAX);
	const struct pod *newcomer = NULL;

	if (attempt->refused_us >= attempt->freed_us &&
		!room_pods_waits_for_data(attempt->refusal)) {
		newcomer = cache_newcomer(room->options.cache, attempt->node,
			attempt->held_us);
	}
	if (newcomer != NULL) {
		make_room_lose_place(room, attempt, pod, newcomer, now);
		return;
	}
	if (attempt->refused_us > attempt->freed_us + PLACE_US) {
		buffer_printf(&why,
			"the moves are done, and the pod does not fit on %s",
			attempt->node);
	} else if (now.now_us - attempt->woken_us >= TRY_AGAIN_US) {
		attempt->wants_wake = true;
	}
	if (why.len > 0) {
		make_room_lose_plan(room, attempt, pod, why.data, now);
	}
}

/* The last of its actions may end the attempt. */
static void move(struct make_room *room, struct attempt *attempt,
	struct pod *pod, struct moment now)
{
	struct attempt_context context = make_room_context(room, now);

	if (!attempt->is_counted && attempt->plans >= MAKE_ROOM_PLANS &&
		has_more(attempt)) {
		make_room_give_up(room, attempt, pod,
			"two plans did not make room", now);
		return;
	}
	doubt(room, attempt, now.now_us);
	order(room, attempt, pod, now);
	/* As long as nothing may be ordered, others may use the place. */
	if (attempt_may_hold(attempt) &&
		(attempt->has_orders || attempt->move_count == 0)) {
		hold_put(attempt, room->options.cache, pod, attempt->node,
			now.now_us);
	}
	if (attempt->began_us == 0 &&
		(attempt->is_holding || attempt->has_orders)) {
		attempt->began_us = now.now_us;
	}
	make_room_nominate(room, attempt, pod, now);
	if (attempt->move_count > 0 && !attempt_is_done(attempt)) {
		set_state(attempt, ATTEMPT_MOVING);
		return;
	}
	set_state(attempt, ATTEMPT_WAITING);
	if (attempt->move_count == 0 ||
		!attempt_moves_have_left(attempt, &context)) {
		return;
	}
	if (attempt->freed_us == 0) {
		attempt->freed_us = now.now_us;
		attempt->wants_wake = true;
	}
	judge_place(room, attempt, pod, now);
}

/* ---- one attempt ---- */

static void end_with_queue(struct make_room *room, struct attempt *attempt,
	struct moment now)
{
	const struct pod *pod = cache_pod(room->options.cache, attempt->uid);

	if (pod == NULL) {
		make_room_end(room, attempt, "the pod is gone", now);
		return;
	}
	if (attempt->has_orders &&
		strcmp(attempt->placed_on, attempt->held_node) == 0) {
		room->made++;
		log_info("room was made", log_str("namespace", pod->namespace),
			log_str("pod", pod->name),
			log_str("node", attempt->placed_on), LOG_END);
	}
	make_room_end(room, attempt, "the pod is placed", now);
}

static void stay_without_plan(struct make_room *room, struct attempt *attempt,
	const struct pod *pod, struct moment now)
{
	if (attempt->planned_us != 0) {
		make_room_release(room, attempt);
		make_room_nominate(room, attempt, pod, now);
		set_state(attempt, ATTEMPT_WITHOUT_PLAN);
	} else {
		set_state(attempt, ATTEMPT_PLANNING);
	}
}

static bool is_too_late(const struct make_room *room,
	const struct attempt *attempt, int64_t now_us)
{
	return attempt->began_us != 0 &&
		room->options.mode == MOVER_AUTOMATIC &&
		now_us - attempt->began_us > room->options.timeout_us;
}

/* A begun attempt goes on, also while orders are refused for a while. */
static bool makes_room(const struct make_room *room,
	const struct attempt *attempt)
{
	return room->is_automatic ||
		(attempt->began_us != 0 &&
			room->options.mode == MOVER_AUTOMATIC);
}

static void tell_timeout(struct make_room *room, struct attempt *attempt,
	const struct pod *pod, struct moment now)
{
	scoped_free char *why =
		xasprintf("the pod did not start within %lld s%s%s",
			(long long)(room->options.timeout_us / 1000000),
			*attempt->why == '\0' ? "" : ": ", attempt->why);

	make_room_give_up(room, attempt, pod, why, now);
}

static void follow(struct make_room *room, struct attempt *attempt,
	struct pod *pod, struct moment now)
{
	const struct move_records *records =
		move_actions_records(room->actions);
	scoped_buffer struct buffer why = BUFFER_MAX(ATTEMPT_WHY_MAX);
	const struct move_record *failed;

	attempt_sync(attempt, records);
	if (makes_room(room, attempt)) {
		attempt_moves_restore(attempt, records);
	}
	failed = attempt_failed_move(attempt);
	if (is_too_late(room, attempt, now.now_us)) {
		tell_timeout(room, attempt, pod, now);
	} else if (failed != NULL) {
		room_words_failed(&why, failed);
		make_room_lose_plan(room, attempt, pod, why.data, now);
	} else if (!attempt_has_plan(attempt)) {
		stay_without_plan(room, attempt, pod, now);
	} else if (makes_room(room, attempt)) {
		move(room, attempt, pod, now);
	} else {
		recommend(room, attempt, pod, now);
	}
}

/* The pod waits for a node. */
static void follow_waiting(struct make_room *room, struct attempt *attempt,
	struct pod *pod, struct moment now)
{
	if (pod->generation != attempt->generation) {
		make_room_end(room, attempt, "the pod was changed", now);
		make_room_nominate(room, attempt, pod, now);
		return;
	}
	follow(room, attempt, pod, now);
	if (attempt->is_over) {
		return;
	}
	make_room_search(room, attempt, pod, now);
	if (attempt->wants_wake) {
		make_room_wake(room, attempt, now.now_us);
	}
}

void make_room_follow(struct make_room *room, struct attempt *attempt,
	struct moment now)
{
	struct queued_pod *queued =
		queue_find(room->options.queue, attempt->uid);

	if (queued == NULL) {
		end_with_queue(room, attempt, now);
	} else if (queued->pod == NULL) {
		attempt->state = ATTEMPT_BINDING;
	} else {
		follow_waiting(room, attempt, queued->pod, now);
	}
	if (attempt->is_over) {
		make_room_drop(room, attempt);
	}
}
