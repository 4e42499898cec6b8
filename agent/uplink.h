/* The connection to one aggregator: sends what a session says, logs how it
 * goes. */
#pragma once

#include "agent/session.h"
#include "lib/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct uplink;

/* Connects in the background, for ever. url outlives the uplink.
 * -EINVAL: not an address to connect to. */
must_check int uplink_new(struct uplink **out, uv_loop_t *loop, const char *url,
	const struct session_options *options, struct error *err);

/* Sends what there is to send; call it when there is something new. */
void uplink_kick(struct uplink *uplink);

/* Nothing is under way and nothing new waits, or it cannot be sent now. */
bool uplink_is_idle(const struct uplink *uplink);

/* The interval the aggregator asked for last; 0: none. */
uint32_t uplink_interval_hint_ms(const struct uplink *uplink);

void uplink_close(struct uplink *uplink); /* frees itself; NULL is fine */
