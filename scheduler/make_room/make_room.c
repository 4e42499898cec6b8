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

	ordering_gate(room->parts.ordering, GATE_ROOM, &gate, &texts, now);
	room->is_automatic = !gate_recommends_only(&gate);
	(void)snprintf(room->not_watching, sizeof(room->not_watching), "%s",
		gate.not_watching);
	ordering_gate_fini(&texts);
}

/* Recommendations for pods that no longer need them, also of an earlier leader.
 * A pod that does has an effort soon. */
static void withdraw_orphans(struct make_room *room, struct moment now)
{
	struct effort_context context = make_room_context(room, now);
	const struct move_record *record;
	size_t at = 0;

	if (now.now_us - room->led_us < MAKE_ROOM_AGAIN_US) {
		return;
	}
	while ((record = move_book_next(&room->parts.journal->book, &at)) !=
		NULL) {
		if (record->state == MOVE_RECOMMENDED &&
			record->reason == MOVE_FOR_ROOM &&
			efforts_find(&room->efforts, record->room_for_uid) ==
				NULL) {
			effort_moves_withdraw(&context, record->room_for_uid,
				NULL, "the pod needs no room");
		}
	}
}

static void drop_all(struct make_room *room)
{
	while (room->efforts.count > 0) {
		make_room_drop(room, room->efforts.list[0]);
	}
}

/* An earlier leader may have begun. The pod of a rest that is over may not:
 * its orders are older. */
static void restore(struct make_room *room, struct effort *effort,
	const struct pod *pod, struct moment now)
{
	const struct move_record *record;
	uint64_t first = now.wall_us;
	size_t at = 0;

	while ((record = move_book_next(&room->parts.journal->book, &at)) !=
		NULL) {
		if (record->reason == MOVE_FOR_ROOM &&
			record->ordered_us + MAKE_ROOM_REST_US > now.wall_us &&
			record->ordered_us < first &&
			strcmp(record->room_for_uid, pod->uid) == 0) {
			first = record->ordered_us;
		}
	}
	if (first < now.wall_us) {
		effort->has_orders = true;
		effort->began_us = now.now_us - (int64_t)(now.wall_us - first);
		(void)snprintf(effort->nominated, sizeof(effort->nominated),
			"%s", pod->nominated_node);
	}
}

/* The pod may have been tried before the records of earlier leaders came. */
static void restore_late(struct make_room *room, struct effort *effort,
	struct moment now)
{
	const struct queued_pod *queued =
		queue_find(room->options.queue, effort->uid);

	if (!effort->has_orders && queued != NULL && queued->pod != NULL) {
		restore(room, effort, queued->pod, now);
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
		drop_all(room);
		return;
	}
	look(room, now);
	/* An effort that ends leaves the list. */
	for (size_t i = room->efforts.count; i > 0; i--) {
		restore_late(room, room->efforts.list[i - 1], now);
		make_room_follow(room, room->efforts.list[i - 1], now);
	}
	withdraw_orphans(room, now);
}

/* ---- others ---- */

static struct effort *begin(struct make_room *room, const struct pod *pod,
	struct moment now)
{
	struct effort *displaced;
	struct effort *effort = efforts_add(&room->efforts, pod, &displaced);
	struct effort_context context = make_room_context(room, now);

	if (displaced != NULL) {
		effort_moves_withdraw(&context, displaced->uid, NULL,
			"room is made for more urgent pods");
		make_room_drop(room, displaced);
	}
	if (effort != NULL) {
		effort->room = room;
		effort->wall_us = now.wall_us;
		restore(room, effort, pod, now);
	}
	return effort;
}

void make_room_unschedulable(struct make_room *room,
	const struct queued_pod *queued, const struct decision *decision,
	struct buffer *message)
{
	struct moment now = moment_now();
	const struct pod *pod = queued->pod;
	const struct given_up_pod *rests =
		given_up_find(&room->given_up, pod->uid, now.now_us);
	struct effort *effort = efforts_find(&room->efforts, pod->uid);

	if (effort == NULL && rests != NULL) {
		room_words_given_up(message, rests);
		return;
	}
	if (effort == NULL && room_pods_qualifies(decision)) {
		effort = begin(room, pod, now);
	}
	if (effort != NULL) {
		effort->refused_us = now.now_us;
		effort->refusal = room_pods_reasons(decision, effort->node);
		room_words_message(message, effort);
	}
}

void make_room_placed(struct make_room *room, const struct pod *pod)
{
	struct effort *effort = efforts_find(&room->efforts, pod->uid);

	if (effort != NULL) {
		(void)hold_release(effort, room->options.cache);
		effort->state = EFFORT_BINDING;
	}
}

void make_room_stats(const struct make_room *room, struct make_room_stats *out)
{
	*out = (struct make_room_stats){ .efforts = room->efforts.count,
		.made = room->made,
		.lost = room->lost,
		.given_up = room->given_up_count,
		.without_plan = room->without_plan };
}

void make_room_describe(const struct make_room *room, struct json *j)
{
	room_status_write(j, &room->efforts, &room->given_up);
}

/* ---- life ---- */

struct make_room *make_room_new(const struct make_room_options *options)
{
	struct make_room *room = xcalloc(1, sizeof(*room));

	room->options = *options;
	room->parts = mover_parts(options->mover);
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
