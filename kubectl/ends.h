/* The effect of a move on both of its ends. */
#pragma once

#include "lib/error.h"

struct buffer;
struct api_client;

/* Appends the nodes' load now and after the VM moved from source to target, by
 * the last figures. Figures that the user may not see are unknown.
 * Fails as api_client_get() does, if there are no figures at all. */
must_check int ends_put(struct buffer *out, struct api_client *client,
	const char *vm, const char *source, const char *target,
	struct error *err);
