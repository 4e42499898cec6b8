/* A pod as JSON for tests: what decides about its place, and its requests. */
#pragma once

#include "lib/json.h"
#include "scheduler/objects/pod.h"

/* Two pods that mean the same to the scheduler have the same members, but for
 * the order in lists. pod: read with POD_UNSCHEDULED. */
void pod_form_write(struct json *j, const char *key, const struct pod *pod);
