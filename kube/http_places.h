/* Which requests may be in flight, and which wait. Pure. Private to
 * kube/http*.c.
 *
 * Bindings go before events (enum http_priority), but the background has every
 * fourth place, so that it is late and not lost. It never has more than half of
 * them: a server that is slow with events must not hold up bindings. */
#pragma once

#include "kube/http_transfer.h"

/* While a normal request has waited this long, there are HTTP_REQUESTS_MAX
 * places. */
enum { HTTP_PATIENCE_MS = 250 };

TAILQ_HEAD(http_transfers, http_transfer);

struct http_places {
	struct http_transfers normal, background; /* that wait; FIFO */
	size_t taken, taken_background;
	size_t given; /* since the start */
};

void http_places_init(struct http_places *places);

/* Lets a request wait that is not HTTP_AT_ONCE. */
void http_places_wait(struct http_places *places,
	struct http_transfer *transfer, uint64_t now_ms);

/* The request that has the next free place, which it takes. NULL: none. */
struct http_transfer *http_places_next(struct http_places *places,
	uint64_t now_ms);

/* A request whose deadline has passed, which waits no longer. NULL: none. */
struct http_transfer *http_places_expired(struct http_places *places,
	uint64_t now_ms);

/* Ends the wait of a request, or gives its place back. */
void http_places_leave(struct http_places *places,
	struct http_transfer *transfer);
