/* Requests that wait until the live table has another revision: long polls.
 *
 * While a request waits, it costs its connection and a look at the revision
 * twice a second. A peer, by account or address, has LOAD_WAIT_OF_PEER seats.
 * All together have LOAD_WAIT_MAX, so that most connections of the listeners
 * stay free. A request always gets a seat: one that has waited for longer is
 * answered early, by the rules of lib/fair_share.h. */
#pragma once

#include "aggregator/live/live.h"
#include "lib/http/httpd.h"

#include <uv.h>

enum {
	LOAD_WAIT_MAX = 64,
	LOAD_WAIT_OF_PEER = 8,
	LOAD_WAIT_S_MAX = 30,
};

struct load_wait;

struct load_wait_request {
	struct httpd_request *request;
	uint64_t after;	  /* it waits for another revision than this */
	unsigned seconds; /* at most */
	/* Answers the request, once. Not called if the client hangs up or the
	 * process stops: the request then ends with 503. */
	void (*resume)(void *owner, struct httpd_request *request);
	void *owner; /* on the heap; freed after that */
};

/* live outlives it. */
struct load_wait *load_wait_new(uv_loop_t *loop, const struct live *live);

/* Resumes now, if the revision is another one already, or later. */
void load_wait_add(struct load_wait *waits,
	const struct load_wait_request *request);

/* Ends all that wait; from now on every request is resumed at once. NULL is
 * fine. */
void load_wait_stop(struct load_wait *waits);

void load_wait_free(struct load_wait *waits); /* stopped, or NULL */
