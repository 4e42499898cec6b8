#include "scheduler/make_room/make_room_private.h"

#include "lib/log.h"
#include "lib/memory.h"
#include "scheduler/bind/events.h"
#include "scheduler/cache/queue.h"
#include "scheduler/make_room/effort_search.h"
#include "scheduler/make_room/hold.h"
#include "scheduler/make_room/room_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A nomination that is not seen is written again after this. */
#define NOMINATE_AGAIN_US INT64_C(5000000)

struct effort_context make_room_context(const struct make_room *room,
	struct moment now)
{
	return (struct effort_context){ room->actions, room->options.cache,
		now };
}

/* ---- what people are told ---- */

void make_room_tell(struct make_room *room, const struct pod *pod,
	const struct events_pod *event, struct moment now)
{
	log_info("making room", log_str("event", event->reason),
		log_str("namespace", pod->namespace), log_str("pod", pod->name),
		log_str("note", event->note), LOG_END);
	events_about_pod(room->options.events, pod, event, now.now_us);
}

void make_room_wake(struct make_room *room, struct effort *effort,
	int64_t now_us)
{
	effort->wants_wake = false;
	effort->woken_us = now_us;
	room->options.wake(room->options.owner, effort->uid);
}

void make_room_release(struct make_room *room, struct effort *effort)
{
	if (hold_release(effort, room->options.cache)) {
		queue_wake_all(room->options.queue);
	}
}

/* The API server still says something else, some time after the write. */
static bool is_nomination_lost(const struct effort *effort,
	const struct pod *pod, const char *node, int64_t now_us)
{
	if (*effort->wrote == '\0' ||
		now_us - effort->nominated_us < NOMINATE_AGAIN_US) {
		return false;
	}
	return *node == '\0' ? strcmp(pod->nominated_node, effort->wrote) == 0
			     : strcmp(pod->nominated_node, node) != 0;
}

void make_room_nominate(struct make_room *room, struct effort *effort,
	const struct pod *pod, struct moment now)
{
	const char *node = effort->is_holding ? effort->held_node : "";

	if (strcmp(node, effort->nominated) == 0 &&
		!is_nomination_lost(effort, pod, node, now.now_us)) {
		return;
	}
	(void)snprintf(effort->nominated, sizeof(effort->nominated), "%s",
		node);
	if (*node != '\0') {
		(void)snprintf(effort->wrote, sizeof(effort->wrote), "%s",
			node);
	}
	effort->nominated_us = now.now_us;
	room->options.nominate(room->options.owner, pod, node);
}

/* ---- the ends ---- */

void make_room_drop(struct make_room *room, struct effort *effort)
{
	efforts_take(&room->efforts, effort);
	effort_search_forget(effort->search);
	(void)hold_release(effort, room->options.cache);
	free(effort);
}

void make_room_end(struct make_room *room, struct effort *effort,
	const char *why, struct moment now)
{
	struct effort_context context = make_room_context(room, now);

	effort_moves_withdraw(&context, effort->uid, NULL, why);
	make_room_release(room, effort);
	effort->is_over = true;
}

void make_room_give_up(struct make_room *room, struct effort *effort,
	const struct pod *pod, const char *why, struct moment now)
{
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
	make_room_tell(room, pod,
		&(struct events_pod){ "MakingRoom", "RoomGivenUp", why, true },
		now);
	make_room_release(room, effort);
	make_room_nominate(room, effort, pod, now);
	make_room_wake(room, effort, now.now_us);
	/* Why names pods of other namespaces than those of the moves. */
	make_room_end(room, effort, "gave up making room", now);
}

void make_room_lose_plan(struct make_room *room, struct effort *effort,
	const struct pod *pod, const char *why, struct moment now)
{
	scoped_free char *text = NULL;

	if (effort->plans >= MAKE_ROOM_PLANS) {
		make_room_give_up(room, effort, pod, why, now);
		return;
	}
	text = xasprintf("%s; another plan is being made", why);
	make_room_tell(room, pod,
		&(struct events_pod){ "MakingRoom", "RoomLost", text, true },
		now);
	effort_keep_open(effort);
	effort->is_doubted = false;
	effort->node[0] = '\0';
	effort->planned_us = 0;
	effort->freed_us = 0;
	effort->refused_us = 0;
	(void)snprintf(effort->why, sizeof(effort->why), "%s", why);
}

/* ---- the place is taken ---- */

/* Amounts that the pod lacks on the held node once the VMs of the plan have
 * left. */
struct shortage {
	int64_t cpu_milli, memory_bytes;
};

static struct shortage shortage_of(const struct make_room *room,
	const struct effort *effort, const struct pod *pod)
{
	const struct cache *cache = room->options.cache;
	const struct node *node = cache_node(cache, effort->held_node);
	struct shortage lacks = { 0 };

	if (node == NULL) {
		return lacks;
	}
	lacks.cpu_milli = pod->requests.cpu_milli + node->cpu_milli_requested -
		node->cpu_milli;
	lacks.memory_bytes = pod->requests.memory_bytes +
		node->memory_bytes_requested - node->memory_bytes;
	for (size_t i = 0; i < effort->move_count; i++) {
		const struct pod *vm =
			cache_pod(cache, effort->moves[i].pod_uid);

		if (vm != NULL && strcmp(vm->node_name, node->name) == 0) {
			lacks.cpu_milli -= vm->requests.cpu_milli;
			lacks.memory_bytes -= vm->requests.memory_bytes;
		}
	}
	return lacks;
}

void make_room_lose_place(struct make_room *room, struct effort *effort,
	const struct pod *pod, const struct pod *taker, struct moment now)
{
	scoped_buffer struct buffer why = BUFFER_MAX(EFFORT_WHY_MAX);
	const struct shortage lacks = shortage_of(room, effort, pod);

	room->lost++;
	room_words_taken(&why, effort, taker,
		taker->requests.cpu_milli >= lacks.cpu_milli &&
			taker->requests.memory_bytes >= lacks.memory_bytes);
	make_room_lose_plan(room, effort, pod, why.data, now);
}
