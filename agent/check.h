/* `plimsoll-agent --check`: the agent of this node answers whether it works.
 *
 * The question goes over an abstract unix socket, which needs no file, no port
 * and no privilege. The socket's name contains the node's name. It is visible
 * in the agent's network namespace, where the probe of its container runs. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

#include <stdbool.h>
#include <stdio.h>
#include <uv.h>

struct check;

/* Appends a sentence on the state of the agent. True: the agent works. */
typedef bool (*check_describe)(void *owner, struct buffer *out);

/* -EADDRINUSE: another agent runs here for this node. */
must_check int check_new(struct check **out, uv_loop_t *loop, const char *node,
	check_describe describe, void *owner, struct error *err);
void check_close(struct check *check); /* frees itself; NULL is fine */

/* Queries the agent and prints the sentence. -ECONNREFUSED: no agent runs for
 * this node; -ETIMEDOUT: no answer in 5 s; -EIO: the agent does not work. */
must_check int check_query(const char *node, FILE *out, struct error *err);
