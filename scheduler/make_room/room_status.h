/* The list "making" of GET /v1/room as JSON. Pure. */
#pragma once

#include "lib/json.h"
#include "scheduler/make_room/attempt.h"
#include "scheduler/make_room/given_up.h"

/* Attempts first, then the pods that rest. */
void room_status_write(struct json *j, const struct attempts *attempts,
	const struct given_up *given_up);
