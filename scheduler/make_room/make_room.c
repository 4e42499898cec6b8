#include "scheduler/make_room/make_room.h"

#include "lib/loop.h"
#include "lib/memory.h"
#include "scheduler/cache/queue.h"
#include "scheduler/make_room/hold.h"
#include "scheduler/make_room/make_room_private.h"
#include "scheduler/make_room/room_pods.h"
#include "scheduler/make_room/room_status.h"
#include "scheduler/make_room/room_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TICK_MS = 1000 };

/* ---- time ---- */

static void look(struct make_room *room, struct moment now)
{
	struct gate_texts texts;
	struct gate gate;

	move_actions_gate(room->actions, GATE_ROOM, &gate, &texts, now);
	room->is_automatic = !gate_recommends_only(&gate);
	room->has_history = gate.has_history;
	(void)snprintf(room->not_watching, sizeof(room->not_watching), "%s",
		gate.not_watching);
	move_actions_gate_fini(&texts);
}

/* Recommendations for pods that no longer need them, also of an earlier leader.
 * A pod that does has an attempt soon. */
static void withdraw_orphans(struct make_room *room, struct moment now)
{
	struct attempt_context context = make_room_context(room, now);
	const struct move_record *record;
	size_t at = 0;

	if (now.now_us - room->led_us < MAKE_ROOM_AGAIN_US) {
		return;
	}
	while ((record = move_records_next(move_actions_records(room->actions),
			&at)) != NULL) {
		if (record->state == MOVE_RECOMMENDED &&
			record->reason == MOVE_FOR_ROOM &&
			attempts_find(&room->attempts, record->room_for_uid) ==
				NULL) {
			attempt_moves_withdraw(&context, record->room_for_uid,
				NULL, "the pod needs no room");
		}
	}
}

static void drop_all(struct make_room *room)
{
	while (room->attempts.count > 0) {
		make_room_drop(room, room->attempts.list[0]);
	}
}

/* 0: nothing was ordered for the pod since its last rest. */
static uint64_t first_order(const struct make_room *room, const char *pod_uid,
	uint64_t wall_us)
{
	const struct move_record *record;
	uint64_t first = wall_us;
	size_t at = 0;

	while ((record = move_records_next(move_actions_records(room->actions),
			&at)) != NULL) {
		if (record->reason == MOVE_FOR_ROOM &&
			record->ordered_us + MAKE_ROOM_REST_US > wall_us &&
			record->ordered_us < first &&
			strcmp(record->room_for_uid, pod_uid) == 0) {
			first = record->ordered_us;
		}
	}
	return first == wall_us ? 0 : first;
}

/* The earlier leader's word holds until there is a plan. */
static void take_over_place(struct make_room *room, struct attempt *attempt,
	struct pod *pod, struct moment now)
{
	(void)snprintf(attempt->nominated, sizeof(attempt->nominated), "%s",
		pod->nominated_node);
	(void)snprintf(attempt->wrote, sizeof(attempt->wrote), "%s",
		pod->nominated_node);
	if (room->options.mode == MOVER_AUTOMATIC &&
		cache_node(room->options.cache, pod->nominated_node) != NULL) {
		hold_put(attempt, room->options.cache, pod, pod->nominated_node,
			now.now_us);
	}
}

/* An earlier leader may have begun. Its records come one after the other, and
 * maybe after the pod. */
static void restore(struct make_room *room, struct attempt *attempt,
	struct pod *pod, struct moment now)
{
	uint64_t first = first_order(room, pod->uid, now.wall_us);

	attempt->is_restored = room->has_history;
	if (first == 0) {
		return;
	}
	attempt->began_us = now.now_us - (int64_t)(now.wall_us - first);
	if (!attempt->has_orders) {
		attempt->has_orders = true;
		take_over_place(room, attempt, pod, now);
	}
}

static void restore_late(struct make_room *room, struct attempt *attempt,
	struct moment now)
{
	struct queued_pod *queued =
		queue_find(room->options.queue, attempt->uid);

	if (!attempt->is_restored && queued != NULL && queued->pod != NULL) {
		restore(room, attempt, queued->pod, now);
	}
}

/* The most urgent one first. An attempt that ends leaves the list. */
static void follow_all(struct make_room *room, struct moment now)
{
	char uids[MAKE_ROOM_ATTEMPTS_MAX][REPORT_UID_MAX];
	size_t count = room->attempts.count;

	for (size_t i = 0; i < count; i++) {
		memcpy(uids[i], room->attempts.list[i]->uid, sizeof(uids[i]));
	}
	for (size_t i = 0; i < count; i++) {
		struct attempt *attempt =
			attempts_find(&room->attempts, uids[i]);

		if (attempt != NULL) {
			restore_late(room, attempt, now);
			make_room_follow(room, attempt, now);
		}
	}
}

/* Pods that were placed or deleted rest no longer. */
static void forget_given_up(struct make_room *room)
{
	for (size_t i = room->given_up.count; i > 0; i--) {
		const char *uid = room->given_up.list[i - 1].uid;

		if (queue_find(room->options.queue, uid) == NULL) {
			given_up_remove(&room->given_up, uid);
		}
	}
}

static void on_tick(void *owner)
{
	struct make_room *room = owner;
	struct moment now = moment_now();
	bool leads = room->options.leads(room->options.owner);

	if (leads && !room->leads) {
		room->led_us = now.now_us;
	}
	room->leads = leads;
	if (!leads) {
		room->has_history = false;
		drop_all(room);
		return;
	}
	look(room, now);
	follow_all(room, now);
	forget_given_up(room);
	withdraw_orphans(room, now);
}

/* ---- others ---- */

static struct attempt *begin(struct make_room *room, struct pod *pod,
	struct moment now)
{
	struct attempt *displaced;
	struct attempt *attempt =
		attempts_add(&room->attempts, pod, now.now_us, &displaced);
	struct attempt_context context = make_room_context(room, now);

	if (displaced != NULL) {
		attempt_moves_withdraw(&context, displaced->uid, NULL,
			"room is made for other pods");
		make_room_drop(room, displaced);
	}
	if (attempt != NULL) {
		attempt->room = room;
		attempt->wall_us = now.wall_us;
		restore(room, attempt, pod, now);
	}
	return attempt;
}

void make_room_unschedulable(struct make_room *room,
	const struct queued_pod *queued, const struct decision *decision,
	struct buffer *message, struct buffer *record)
{
	struct moment now = moment_now();
	struct pod *pod = queued->pod;
	const struct given_up_pod *rests =
		given_up_find(&room->given_up, pod->uid, now.now_us);
	struct attempt *attempt = attempts_find(&room->attempts, pod->uid);

	if (attempt == NULL && rests != NULL) {
		room_words_given_up(message, rests);
		room_words_state(record, NULL);
		return;
	}
	if (attempt == NULL && room_pods_qualifies(decision)) {
		attempt = begin(room, pod, now);
	}
	if (attempt != NULL) {
		attempt->refused_us = now.now_us;
		attempt->refusal = room_pods_reasons(decision, attempt->node);
		room_words_message(message, attempt);
		room_words_state(record, attempt);
	}
}

void make_room_placed(struct make_room *room, const struct pod *pod,
	const char *node)
{
	struct attempt *attempt = attempts_find(&room->attempts, pod->uid);

	if (attempt != NULL) {
		(void)hold_release(attempt, room->options.cache);
		attempt->state = ATTEMPT_BINDING;
		(void)snprintf(attempt->placed_on, sizeof(attempt->placed_on),
			"%s", node);
	}
}

void make_room_stats(const struct make_room *room, struct make_room_stats *out)
{
	*out = (struct make_room_stats){ .attempts = room->attempts.count,
		.made = room->made,
		.lost = room->lost,
		.given_up = room->given_up_count,
		.without_plan = room->without_plan,
		.orders = room->leads && room->is_automatic };
}

void make_room_describe(const struct make_room *room, struct json *j)
{
	room_status_write(j, &room->attempts, &room->given_up);
}

/* ---- life ---- */

struct make_room *make_room_new(const struct make_room_options *options)
{
	struct make_room *room = xcalloc(1, sizeof(*room));

	room->options = *options;
	room->actions = mover_actions(options->mover);
	room->tick = timer_new(options->loop, on_tick, room);
	timer_start(room->tick, TICK_MS, TICK_MS);
	return room;
}

void make_room_close(struct make_room *room)
{
	if (room == NULL) {
		return;
	}
	timer_close(room->tick);
	drop_all(room);
	given_up_fini(&room->given_up);
	free(room);
}
