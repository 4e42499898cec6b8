/* The connection to one aggregator: sends what a session says, logs how it
 * goes. */
#pragma once

#include "agent/delivery.h"
#include "lib/error.h"
#include "lib/tls.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct uplink;

struct uplink_options {
	const char *url;		/* outlives the uplink */
	const struct tls_material *tls; /* borrowed for the call; NULL: tcp */
	const char *server_name;	/* see lib/mq.h */
	const char *token_file;		/* outlives the uplink; NULL: none */
	struct session_options session;
};

/* Connects in the background, for ever. -EINVAL: not an address to connect to,
 * or TLS material that is no good. */
must_check int uplink_new(struct uplink **out, uv_loop_t *loop,
	const struct uplink_options *options, struct error *err);

/* Sends what there is to send; call it when there is something new. */
void uplink_kick(struct uplink *uplink);

/* Call it again and again before the end: offers what the aggregator lacks
 * without waiting. True: it lacks nothing that would be lost with us, or it
 * cannot be reached. */
bool uplink_drain(struct uplink *uplink);

/* The last answer was that reports were taken. */
bool uplink_is_taken(const struct uplink *uplink);

/* The interval the aggregator asked for last; 0: none. */
uint32_t uplink_interval_hint_ms(const struct uplink *uplink);

void uplink_close(struct uplink *uplink); /* frees itself; NULL is fine */
