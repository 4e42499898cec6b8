/* A connection to one aggregator: one request after the other, Hello before
 * them where there is a token and whenever the aggregator asks for it. What
 * goes wrong is logged at most every 10 s and tried again. */
#pragma once

#include "lib/buffer.h"
#include "lib/credentials.h"
#include "lib/error.h"
#include "proto/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct speaker;

/* What became of a reply. */
enum speaker_turn {
	SPEAKER_GO_ON, /* the next request may follow */
	SPEAKER_WAIT,  /* in a while */
	SPEAKER_MISFIT /* it does not answer what was asked */
};

struct speaker_options {
	const char *url;		/* outlives the speaker */
	const struct dial_config *dial; /* outlives the speaker */
	size_t request_max;		/* bytes of the largest request */
	const char *complaint; /* what is logged when it does not work */
	/* Packs the next request; false: there is none, until somebody calls
	 * speaker_go_on(). */
	bool (*next)(void *owner, struct buffer *out);
	enum speaker_turn (*reply)(void *owner, const struct wire_reply *reply);
	void *owner;
};

/* Connects in the background. -EINVAL: not an URL, or a TLS file is no good;
 * else what reading the files said. */
must_check int speaker_new(struct speaker **out, uv_loop_t *loop,
	const struct speaker_options *options, struct error *err);

/* Says the next request unless one is under way or must wait. */
void speaker_go_on(struct speaker *speaker);

bool speaker_is_connected(const struct speaker *speaker);

/* Logs why it is not connected, if it is not. */
void speaker_complain(struct speaker *speaker);

void speaker_close(struct speaker *speaker); /* frees itself; NULL is fine */
