/* The version of the API server, which chooses among the behaviours of
 * kube-scheduler (objects/behaviours.h).
 *
 * Asks /version at once and then every minute. A server that does not tell its
 * version counts as the newest. A change counts when two answers in a row
 * agree: while several API servers are upgraded, either may answer. */
#pragma once

#include "scheduler/objects/behaviours.h"

#include <stdint.h>

struct api_version;
struct kube_client;

struct api_version_options {
	struct kube_client *client; /* outlives this */
	struct behaviour_overrides overrides;
	void (*on_change)(void *owner, struct behaviours behaviours);
	void *owner;
};

/* Never NULL. Calls on_change for the first answer and for each change. */
struct api_version *api_version_new(const struct api_version_options *options);

/* To be called every few seconds: asks if it is time. */
void api_version_poll(struct api_version *version, uint64_t now_us);

void api_version_close(struct api_version *version); /* NULL is fine */
