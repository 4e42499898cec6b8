/* The scheduler's HTTP listener: probes, metrics, the extender, and the state
 * of moves. */
#pragma once

#include "lib/error.h"
#include "scheduler/config.h"

#include <stdint.h>

struct loop;
struct schedule;
struct server;

/* loop, config and sched outlive the server. Errors as
 * httpd_listener_new(). */
must_check int server_new(struct server **out, struct loop *loop,
	const struct scheduler_config *config, struct schedule *sched,
	struct error *err);

uint16_t server_port(const struct server *server);

void server_close(struct server *server); /* before the sched; NULL is fine */
