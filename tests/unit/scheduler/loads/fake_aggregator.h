/* An aggregator on loopback whose answers a test gives, and the event loop that
 * it shares with the client under test. */
#pragma once

#include "lib/log.h"
#include "lib/mq/mq.h"
#include "lib/options.h"
#include "lib/tls/credentials.h"
#include "tests/support/cm.h"
#include "tests/support/fake_clock.h"

#include <stdio.h>
#include <uv.h>

struct fake_aggregator {
	uv_loop_t loop;
	struct mq_server *server;
	char url[64];
	struct option_list urls; /* that url */
	struct credentials credentials;
};

/* options: serve and owner. */
static inline void fake_aggregator_open(struct fake_aggregator *aggregator,
	struct mq_server_options options)
{
	options.url = "tcp://127.0.0.1:0";
	options.contexts = 4;
	log_setup(LOG_TEXT, LOG_ERROR);
	assert_int_equal(uv_loop_init(&aggregator->loop), 0);
	assert_int_equal(mq_server_new(&aggregator->server, &aggregator->loop,
				 &options, NULL),
		0);
	(void)snprintf(aggregator->url, sizeof(aggregator->url),
		"tcp://127.0.0.1:%u",
		(unsigned)mq_server_port(aggregator->server));
	aggregator->urls = (struct option_list){ { aggregator->url }, 1 };
}

/* After the client was closed. */
static inline void fake_aggregator_close(struct fake_aggregator *aggregator)
{
	mq_server_close(aggregator->server);
	/* Its timers may run by the clock of the test. */
	while (uv_loop_close(&aggregator->loop) != 0) {
		fake_clock_move(1000);
		(void)uv_run(&aggregator->loop, UV_RUN_NOWAIT);
	}
}
