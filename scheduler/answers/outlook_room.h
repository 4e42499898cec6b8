/* The answer of GET /v1/room for people who may know nodes but no VMs: the same
 * members in camelCase, without the names of pods and VMs, and without the
 * sentences that may hold such names. Pure. */
#pragma once

#include "lib/json.h"

/* Appends the member "room" to the open object; nothing if room is not JSON. A
 * member that this does not know is left out. */
void outlook_room_write(struct json *j, const char *room);
