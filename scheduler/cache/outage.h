/* When the cluster cannot be followed: says why, and when it can be again.
 *
 * Without this a wrong certificate or a token that is refused would show in
 * probes alone. Pure but for the log. */
#pragma once

#include "kube/reflector.h"
#include "lib/buffer.h"
#include "lib/log.h"

#include <stdbool.h>
#include <stdint.h>

/* Zeroed is the start. */
struct outage {
	struct log_limit limit;
	bool was_told;
};

/* Why one of the watches is interrupted or does not begin; "" if none is, or
 * if nothing has gone wrong yet. Borrowed from the states. */
const char *outage_why(const struct reflector_state *nodes,
	const struct reflector_state *pods);

/* Whether pods are placed; out gets what is missing or not as it should be.
 * Of so many aggregators are connected. */
bool outage_ready(struct buffer *out, const struct reflector_state *nodes,
	const struct reflector_state *pods, size_t connected, size_t of);

enum { OUTAGE_LOOK_MS = 2000 };

/* To be called every OUTAGE_LOOK_MS: logs what is wrong, once a minute at most,
 * and that all is well again. now_us is monotonic. */
void outage_look(struct outage *outage, const struct reflector_state *nodes,
	const struct reflector_state *pods, uint64_t now_us);
