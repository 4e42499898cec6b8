/* The connection to one aggregator: sends the requests of a delivery and logs
 * the outcome. */
#pragma once

#include "agent/delivery.h"
#include "lib/error.h"
#include "lib/tls/tls_watch.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct report_client;

struct report_client_options {
	const char *url;	 /* outlives the client */
	struct tls_watch *tls;	 /* outlives the client; NULL: tcp */
	const char *server_name; /* see lib/mq/mq.h */
	const char *token_file;	 /* outlives the client; NULL: none */
	struct delivery_options delivery;
};

/* Connects in the background and never gives up. -EINVAL: the address or the
 * TLS material is invalid. */
must_check int report_client_new(struct report_client **out, uv_loop_t *loop,
	const struct report_client_options *options, struct error *err);

/* Sends the next request if there is one. Call this after each new report. */
void report_client_wake(struct report_client *client);

/* Call this repeatedly before the end: sends the remaining reports without
 * waiting for retries. True: no report would be lost with the process, or the
 * aggregator has not been reached for two seconds. */
bool report_client_drain(struct report_client *client);

/* True: the aggregator accepted the last batch. */
bool report_client_is_delivering(const struct report_client *client);

/* The interval that the aggregator asked for last; 0: none. */
uint32_t report_client_interval_hint_ms(const struct report_client *client);

/* Frees itself; NULL is fine. */
void report_client_close(struct report_client *client);
