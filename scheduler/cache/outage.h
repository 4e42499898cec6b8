/* Logs why nodes or pods cannot be watched, and when they can be again.
 * Otherwise a wrong certificate or a refused token would show only in probes.
 * Pure except for the log. */
#pragma once

#include "kube/reflector.h"
#include "lib/buffer.h"
#include "lib/log.h"

#include <stdbool.h>
#include <stdint.h>

/* Zeroed is the start. */
struct outage {
	struct log_limit limit;
	bool was_logged;
};

/* Why a watch is interrupted or does not start; "": both watch, or nothing has
 * failed yet. Borrowed from the states. */
const char *outage_reason(const struct reflector_state *nodes,
	const struct reflector_state *pods);

/* True if pods are scheduled. Appends what is missing or degraded. connected:
 * the aggregators that are connected, of total. */
bool outage_ready(struct buffer *out, const struct reflector_state *nodes,
	const struct reflector_state *pods, size_t connected, size_t total);

enum { OUTAGE_POLL_MS = 2000 };

/* To be called every OUTAGE_POLL_MS: logs an outage, at most once a minute, and
 * its end. now_us is monotonic. */
void outage_poll(struct outage *outage, const struct reflector_state *nodes,
	const struct reflector_state *pods, uint64_t now_us);
