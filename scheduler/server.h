/* The scheduler's HTTP listeners: probes, metrics, the extender and the state
 * of moves on one, the webhook on another. */
#pragma once

#include "lib/error.h"
#include "scheduler/config.h"

#include <stdint.h>

struct access_review;
struct loop;
struct schedule;
struct server;

struct server_options {
	struct loop *loop; /* all outlive the server */
	const struct scheduler_config *config;
	struct schedule *sched;
	struct access_review *review; /* NULL: no authentication */
};

/* Errors as
 * httpd_listener_new(). */
must_check int server_new(struct server **out,
	const struct server_options *options, struct error *err);

uint16_t server_port(const struct server *server);
/* 0: there is no webhook. */
uint16_t server_webhook_port(const struct server *server);

void server_close(struct server *server); /* before the sched; NULL is fine */
