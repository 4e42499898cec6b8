/* The listener for kubelet's probes: the agent answers them from its loop.
 *
 * A probe that runs a process in the container starves with it: on a node
 * without CPU time the agent would be killed while it works. This answer costs
 * one short wake-up, and a loop that hangs gives none.
 *
 * The listener has no authentication. It answers GET of /healthz, /livez and
 * /readyz with one sentence, keeps HEALTH_CLIENTS connections, and closes the
 * oldest of them for a new one, so that nobody can hold up a probe for long. */
#pragma once

#include "agent/check.h"
#include "lib/error.h"

#include <uv.h>

enum { HEALTH_CLIENTS = 16, HEALTH_REQUEST_MAX = 4096 };

struct health;

enum health_request {
	HEALTH_REQUEST_INCOMPLETE, /* without the empty line that ends it */
	HEALTH_REQUEST_PROBE,
	HEALTH_REQUEST_UNKNOWN, /* for another path, or with another method */
};

/* Reads what a client asks for. The text is not terminated. Pure. */
enum health_request health_read(const char *text, size_t len);

/* address: "HOST:PORT", numeric; ":PORT" is all addresses of both families;
 * port 0 picks one. describe: 200 if it returns true, else 503. -EINVAL: not an
 * address; else what bind(2) says. */
must_check int health_new(struct health **out, uv_loop_t *loop,
	const char *address, check_describe describe, void *owner,
	struct error *err);
uint16_t health_port(const struct health *health);
void health_close(struct health *health); /* frees itself; NULL is fine */
