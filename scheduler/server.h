/* The scheduler's HTTP listener: probes and figures. */
#pragma once

#include "lib/error.h"
#include "scheduler/config.h"

#include <stdint.h>

struct loop;
struct placer;
struct server;

/* loop, config and placer outlive the server.
 * -EINVAL: not an address, or TLS files that are no good; else what opening
 * the listener said. */
must_check int server_new(struct server **out, struct loop *loop,
	const struct scheduler_config *config, struct placer *placer,
	struct error *err);

uint16_t server_port(const struct server *server);

void server_close(struct server *server); /* before the placer; NULL is fine */
