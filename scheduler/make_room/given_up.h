/* The pods for which no room was made: each rests for MAKE_ROOM_REST_US. The
 * oldest one is forgotten when there are too many. Pure. */
#pragma once

#include "proto/decision.h"
#include "proto/report.h"
#include "scheduler/make_room/make_room.h"

#include <stddef.h>
#include <stdint.h>

enum { GIVEN_UP_WHY_MAX = 512 };

struct given_up_pod {
	char uid[REPORT_UID_MAX];
	char namespace[DECISION_NAME_MAX], name[DECISION_NAME_MAX];
	int32_t priority;
	int64_t until_us; /* monotonic */
	uint64_t wall_us; /* when it was given up */
	char why[GIVEN_UP_WHY_MAX];
};

/* Zeroed: none. In order of the ends. */
struct given_up {
	struct given_up_pod *list; /* owned */
	size_t count, capacity;
};

void given_up_fini(struct given_up *given_up);

/* The pod rests until pod->until_us; takes the place of an earlier entry. */
void given_up_add(struct given_up *given_up, const struct given_up_pod *pod);

/* NULL: the pod does not rest. Forgets those whose rest is over. */
const struct given_up_pod *given_up_find(struct given_up *given_up,
	const char *uid, int64_t now_us);

void given_up_remove(struct given_up *given_up, const char *uid);
