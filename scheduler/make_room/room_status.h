/* The list "making" of GET /v1/room as JSON. Pure. */
#pragma once

#include "lib/json.h"
#include "scheduler/make_room/effort.h"
#include "scheduler/make_room/given_up.h"

/* Efforts first, then the pods that rest. */
void room_status_write(struct json *j, const struct efforts *efforts,
	const struct given_up *given_up);
