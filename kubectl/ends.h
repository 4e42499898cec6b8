/* The effect of a move on both of its ends. */
#pragma once

#include "lib/error.h"

struct buffer;
struct cluster;

/* Appends the nodes' load now and after the VM moved from source to target, by
 * the last figures. Figures that the user may not see are unknown.
 * Fails as cluster_get() does, if there are no figures at all. */
must_check int ends_put(struct buffer *out, struct cluster *cluster,
	const char *vm, const char *source, const char *target,
	struct error *err);
