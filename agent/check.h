/* Whether the agent of this node does its work: answered over an abstract unix
 * socket, so that it needs no file, no port and no right. Its name holds the
 * node's, and it is seen in the agent's own network namespace, where a probe
 * of its container runs. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

#include <stdbool.h>
#include <stdio.h>
#include <uv.h>

struct check;

/* Appends a sentence; true if all is well. */
typedef bool (*check_say)(void *owner, struct buffer *out);

/* -EADDRINUSE: another agent runs here for this node. */
must_check int check_new(struct check **out, uv_loop_t *loop, const char *node,
	check_say say, void *owner, struct error *err);
void check_close(struct check *check); /* frees itself; NULL is fine */

/* Asks, and prints the sentence. -ECONNREFUSED: no agent answers for this node;
 * -ETIMEDOUT: it does not within 5 s; -EIO: not all is well. */
must_check int check_ask(const char *node, FILE *out, struct error *err);
