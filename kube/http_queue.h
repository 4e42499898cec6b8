/* Which requests may be in flight, and which wait. Pure. Private to
 * kube/http*.c.
 *
 * Bindings go before events (enum http_priority), but every fourth request that
 * begins is of the background, so that it is late and not lost. It never has
 * more than half of those in flight: a server that is slow with events must not
 * hold up bindings. No request in flight gives way to another, so this is no
 * lib/fair_share.h. */
#pragma once

#include "kube/http_transfer.h"

/* While a normal request has waited this long, HTTP_REQUESTS_MAX may be in
 * flight. */
enum { HTTP_PATIENCE_MS = 250 };

TAILQ_HEAD(http_transfers, http_transfer);

struct http_queue {
	struct http_transfers normal, background; /* that wait; FIFO */
	size_t in_flight, background_in_flight;
	size_t begun; /* since the start */
};

void http_queue_init(struct http_queue *queue);

/* Lets a request wait that is not HTTP_AT_ONCE. */
void http_queue_wait(struct http_queue *queue, struct http_transfer *transfer,
	uint64_t now_ms);

/* The next request, which is in flight now. NULL: none may begin. */
struct http_transfer *http_queue_next(struct http_queue *queue,
	uint64_t now_ms);

/* A request whose deadline has passed, which waits no longer. NULL: none. */
struct http_transfer *http_queue_expired(struct http_queue *queue,
	uint64_t now_ms);

/* The request waits no longer, or is no longer in flight. */
void http_queue_leave(struct http_queue *queue, struct http_transfer *transfer);
