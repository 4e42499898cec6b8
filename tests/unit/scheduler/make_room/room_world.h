/* The scene of tests of making room: an urgent pod in a cluster of three nodes
 * with 16 CPUs each. VMs a and b run on node-1, c on node-2 and d on node-3.
 * The pod needs a whole node. */
#pragma once

#include "scheduler/cache/queue.h"
#include "scheduler/make_room/make_room.h"
#include "scheduler/mover/recorder.h"
#include "scheduler/score/decide.h"
#include "tests/unit/scheduler/planner/fake_planner.h"

enum { ROOM_TIMEOUT_S = 600 };

static struct room_scene {
	struct queue queue;
	struct decision decision;
	struct make_room *room;
	unsigned wakes;
	char nominated[64]; /* the last one; "-": none was written */
	unsigned nominations;
	bool loses_nominations;	      /* the API server does not get them */
	char reason[64], event[1024]; /* the last event of a pod */
	char message[8192];	      /* of the last attempt */
	char record[8192];	      /* of the last attempt, without names */
} room;

void events_about_pod(struct events *events, const struct pod *pod,
	const struct events_pod *event, int64_t now_us)
{
	(void)events;
	(void)pod;
	(void)now_us;
	(void)snprintf(room.reason, sizeof(room.reason), "%s", event->reason);
	(void)snprintf(room.event, sizeof(room.event), "%s", event->note);
}

static inline void on_wake(void *owner, const char *pod_uid)
{
	(void)owner;
	room.wakes++;
	queue_hurry(&room.queue, pod_uid);
}

static inline void on_nominate(void *owner, const struct pod *pod,
	const char *node)
{
	struct queued_pod *queued = queue_find(&room.queue, pod->uid);

	(void)owner;
	room.nominations++;
	(void)snprintf(room.nominated, sizeof(room.nominated), "%s", node);
	if (queued != NULL && queued->pod != NULL && !room.loses_nominations) {
		xreplace(&queued->pod->nominated_node, node);
	}
}
