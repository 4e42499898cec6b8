#include "scheduler/make_room/make_room_private.h"

#include "lib/log.h"
#include "lib/memory.h"
#include "scheduler/bind/events.h"
#include "scheduler/cache/queue.h"
#include "scheduler/make_room/attempt_search.h"
#include "scheduler/make_room/hold.h"
#include "scheduler/make_room/room_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A nomination that is not seen is written again after this. */
#define NOMINATE_AGAIN_US INT64_C(5000000)

struct attempt_context make_room_context(const struct make_room *room,
	struct moment now)
{
	return (struct attempt_context){ room->actions, room->options.cache,
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

void make_room_wake(struct make_room *room, struct attempt *attempt,
	int64_t now_us)
{
	attempt->wants_wake = false;
	attempt->woken_us = now_us;
	room->options.wake(room->options.owner, attempt->uid);
}

void make_room_release(struct make_room *room, struct attempt *attempt)
{
	if (hold_release(attempt, room->options.cache)) {
		queue_wake_all(room->options.queue);
	}
}

/* The API server still says something else, some time after the write. */
static bool is_nomination_lost(const struct attempt *attempt,
	const struct pod *pod, const char *node, int64_t now_us)
{
	if (*attempt->wrote == '\0' ||
		now_us - attempt->nominated_us < NOMINATE_AGAIN_US) {
		return false;
	}
	return *node == '\0' ? strcmp(pod->nominated_node, attempt->wrote) == 0
			     : strcmp(pod->nominated_node, node) != 0;
}

void make_room_nominate(struct make_room *room, struct attempt *attempt,
	const struct pod *pod, struct moment now)
{
	const char *node = attempt->is_holding ? attempt->held_node : "";

	if (strcmp(node, attempt->nominated) == 0 &&
		!is_nomination_lost(attempt, pod, node, now.now_us)) {
		return;
	}
	(void)snprintf(attempt->nominated, sizeof(attempt->nominated), "%s",
		node);
	if (*node != '\0') {
		(void)snprintf(attempt->wrote, sizeof(attempt->wrote), "%s",
			node);
	}
	attempt->nominated_us = now.now_us;
	room->options.nominate(room->options.owner, pod, node);
}

/* ---- the ends ---- */

void make_room_drop(struct make_room *room, struct attempt *attempt)
{
	attempts_take(&room->attempts, attempt);
	attempt_search_forget(attempt->search);
	(void)hold_release(attempt, room->options.cache);
	free(attempt);
}

void make_room_end(struct make_room *room, struct attempt *attempt,
	const char *why, struct moment now)
{
	struct attempt_context context = make_room_context(room, now);

	attempt_moves_withdraw(&context, attempt->uid, NULL, why);
	make_room_release(room, attempt);
	attempt->is_over = true;
}

void make_room_give_up(struct make_room *room, struct attempt *attempt,
	const struct pod *pod, const char *why, struct moment now)
{
	struct given_up_pod given_up = { .priority = pod->priority,
		.until_us = now.now_us + MAKE_ROOM_REST_US,
		.wall_us = now.wall_us };

	(void)snprintf(given_up.uid, sizeof(given_up.uid), "%s", pod->uid);
	(void)snprintf(given_up.namespace, sizeof(given_up.namespace), "%s",
		pod->namespace);
	(void)snprintf(given_up.name, sizeof(given_up.name), "%s", pod->name);
	(void)snprintf(given_up.why, sizeof(given_up.why), "%s", why);
	given_up_add(&room->given_up, &given_up);
	room->given_up_count++;
	make_room_tell(room, pod,
		&(struct events_pod){ "MakingRoom", "RoomGivenUp", why, true },
		now);
	make_room_release(room, attempt);
	make_room_nominate(room, attempt, pod, now);
	make_room_wake(room, attempt, now.now_us);
	/* Why names pods of other namespaces than those of the moves. */
	make_room_end(room, attempt, "gave up making room", now);
}

void make_room_lose_plan(struct make_room *room, struct attempt *attempt,
	const struct pod *pod, const char *why, struct moment now)
{
	scoped_free char *text = NULL;

	if (attempt->plans >= MAKE_ROOM_PLANS) {
		make_room_give_up(room, attempt, pod, why, now);
		return;
	}
	text = xasprintf("%s; another plan is being made", why);
	make_room_tell(room, pod,
		&(struct events_pod){ "MakingRoom", "RoomLost", text, true },
		now);
	attempt_keep_open(attempt);
	attempt->is_doubted = false;
	attempt->node[0] = '\0';
	attempt->planned_us = 0;
	attempt->freed_us = 0;
	attempt->refused_us = 0;
	(void)snprintf(attempt->why, sizeof(attempt->why), "%s", why);
}

/* ---- the place is taken ---- */

/* Amounts that the pod lacks on the held node once the VMs of the plan have
 * left. */
struct shortage {
	int64_t cpu_milli, memory_bytes;
};

static struct shortage shortage_of(const struct make_room *room,
	const struct attempt *attempt, const struct pod *pod)
{
	const struct cache *cache = room->options.cache;
	const struct node *node = cache_node(cache, attempt->held_node);
	struct shortage lacks = { 0 };

	if (node == NULL) {
		return lacks;
	}
	lacks.cpu_milli = pod->requests.cpu_milli + node->cpu_milli_requested -
		node->cpu_milli;
	lacks.memory_bytes = pod->requests.memory_bytes +
		node->memory_bytes_requested - node->memory_bytes;
	for (size_t i = 0; i < attempt->move_count; i++) {
		const struct pod *vm =
			cache_pod(cache, attempt->moves[i].pod_uid);

		if (vm != NULL && strcmp(vm->node_name, node->name) == 0) {
			lacks.cpu_milli -= vm->requests.cpu_milli;
			lacks.memory_bytes -= vm->requests.memory_bytes;
		}
	}
	return lacks;
}

void make_room_lose_place(struct make_room *room, struct attempt *attempt,
	const struct pod *pod, const struct pod *newcomer, struct moment now)
{
	scoped_buffer struct buffer why = BUFFER_MAX(ATTEMPT_WHY_MAX);
	const struct shortage lacks = shortage_of(room, attempt, pod);

	room->lost++;
	room_words_taken(&why, attempt, newcomer,
		newcomer->requests.cpu_milli >= lacks.cpu_milli &&
			newcomer->requests.memory_bytes >= lacks.memory_bytes);
	make_room_lose_plan(room, attempt, pod, why.data, now);
}
