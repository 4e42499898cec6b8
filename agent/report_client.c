#include "agent/report_client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/mq/mq.h"
#include "lib/tls/credentials.h"

enum {
	REPLY_MS = 15000,
	/* nng does not report a new connection, so it is polled for. */
	POLL_MS = 250,
};

#define LOG_EVERY_US UINT64_C(60000000)
/* nng collects all its counters to tell why there is no connection. */
#define ASK_WHY_US UINT64_C(1000000)
/* An aggregator that restarts is connected again within this time. The first
 * connection is also made after a random delay. */
#define LOST_FOR_US UINT64_C(4000000)
#define WAITING_FOR_US UINT64_C(10000000)
/* An aggregator that takes a new certificate ends all connections, and nng
 * dials again within a second (RECONNECT_MIN_MS in lib/mq/mq_client.c). */
#define RETURNS_WITHIN_US UINT64_C(2000000)

struct report_client {
	const char *url, *token_file;
	struct mq_client *mq;
	struct tls_watcher on_tls;
	struct delivery *delivery;
	struct timer *retry;
	struct log_topics failures;
	struct log_limit connected, received, unstored;
	struct log_limit asked_why; /* passes a question, not a message */
	uint64_t waiting_us;	/* since when another agent reports; 0: none */
	bool is_failure_logged; /* and no recovery since */
	bool is_accepted;	/* the last batch */
	uint64_t lost_us;	/* when the connection was lost; 0: connected */
};

/* Each reason is logged once, and then each minute. */
static bool warn(struct report_client *client, const char *message,
	const char *why)
{
	uint64_t suppressed = 0;

	if (!log_allow_topic(&client->failures, clock_monotonic_us(),
		    LOG_EVERY_US, why, &suppressed)) {
		return false;
	}
	log_warning(message, log_str("aggregator", client->url),
		log_str("err", why), log_int("suppressed", (int64_t)suppressed),
		LOG_END);
	return true;
}

/* A failure after which no report is delivered. */
static void warn_failure(struct report_client *client, const char *message,
	const char *why)
{
	client->is_failure_logged |= warn(client, message, why);
}

static void log_recovery(struct report_client *client)
{
	if (client->is_failure_logged) {
		log_info("delivering reports again",
			log_str("aggregator", client->url), LOG_END);
	}
	client->is_failure_logged = false;
}

/* An agent that was restarted waits for some seconds, which is no news. */
static void log_waiting(struct report_client *client, const struct error *why)
{
	uint64_t now_us = clock_monotonic_us();

	if (client->waiting_us == 0) {
		client->waiting_us = now_us;
	}
	if (now_us - client->waiting_us > WAITING_FOR_US) {
		warn_failure(client, "waiting, and keeping reports", why->text);
	}
}

static void log_event(struct report_client *client, enum delivery_event event,
	const struct error *why)
{
	struct log_field url = log_str("aggregator", client->url);

	switch (event) {
	case DELIVERY_WELCOMED:
		client->waiting_us = 0;
		if (log_allow(&client->connected, clock_monotonic_us(),
			    LOG_EVERY_US, NULL)) {
			log_info("connected", url, LOG_END);
		}
		break;
	case DELIVERY_STORED:
		log_recovery(client);
		break;
	case DELIVERY_HELLO_DUE:
		log_debug("aggregator requests Hello", url, LOG_END);
		break;
	case DELIVERY_RECEIVED:
		if (log_allow(&client->received, clock_monotonic_us(),
			    LOG_EVERY_US, NULL)) {
			log_info(
				"aggregator has not stored reports yet, "
				"keeping them",
				url, LOG_END);
		}
		break;
	case DELIVERY_UNSTORED:
		if (log_allow(&client->unstored, clock_monotonic_us(),
			    LOG_EVERY_US, NULL)) {
			log_warning(
				"aggregator cannot store reports, keeping "
				"them",
				url, LOG_END);
		}
		break;
	case DELIVERY_WAITING:
		log_waiting(client, why);
		break;
	case DELIVERY_REFUSED:
		(void)warn(client, "aggregator refused a request", why->text);
		break;
	case DELIVERY_DROPPED:
		log_error("dropped a report that the aggregator refuses", url,
			log_err(why), LOG_END);
		break;
	case DELIVERY_NO_REPLY:
		warn_failure(client, "request failed, will retry", why->text);
		break;
	}
}

static void on_reply(void *owner, const uint8_t *bytes, size_t len)
{
	struct report_client *client = owner;
	struct error why = { 0 };
	enum delivery_event event = delivery_reply(client->delivery, bytes, len,
		clock_monotonic_us(), &why);

	client->is_accepted = event == DELIVERY_STORED ||
		event == DELIVERY_RECEIVED || event == DELIVERY_UNSTORED;
	log_event(client, event, &why);
	report_client_wake(client);
}

static void on_retry(void *owner)
{
	report_client_wake(owner);
}

static int set_tls(void *owner, const struct tls_material *tls,
	struct error *err)
{
	struct report_client *client = owner;

	return mq_client_set_tls(client->mq, tls, err);
}

int report_client_new(struct report_client **out, uv_loop_t *loop,
	const struct report_client_options *options, struct error *err)
{
	struct report_client *client = xcalloc(1, sizeof(*client));
	const struct mq_client_options mq_options = {
		.url = options->url,
		.tls = tls_watch_material(options->tls),
		.server_name = options->server_name,
		.timeout_ms = REPLY_MS,
		.on_reply = on_reply,
		.owner = client,
	};
	int r = mq_client_new(&client->mq, loop, &mq_options, err);

	if (r < 0) {
		free(client);
		return r;
	}
	client->url = options->url;
	client->token_file = options->token_file;
	client->delivery = delivery_new(&options->delivery);
	client->retry = timer_new(loop, on_retry, client);
	client->on_tls.set = set_tls;
	client->on_tls.owner = client;
	if (options->tls != NULL) {
		tls_watch_add(options->tls, &client->on_tls);
	}
	*out = client;
	return 0;
}

/* While there is no connection, no batch is passed to the transport: a batch
 * contains its sending time, so it must not be queued there. */
static void await_connection(struct report_client *client)
{
	uint64_t now_us = clock_monotonic_us();

	timer_start(client->retry, POLL_MS, 0);
	if (client->lost_us == 0) {
		client->lost_us = now_us;
	}
	if (now_us - client->lost_us > LOST_FOR_US &&
		log_allow(&client->asked_why, now_us, ASK_WHY_US, NULL)) {
		warn_failure(client, "no connection to the aggregator",
			mq_client_last_error(client->mq));
	}
}

/* False: Hello needs a token that cannot be read, and is postponed. */
static bool read_token(struct report_client *client, char **token,
	uint64_t now_us)
{
	struct error why;

	if (client->token_file == NULL ||
		!delivery_hello_is_due(client->delivery, now_us) ||
		credentials_read_token(token, client->token_file, &why) == 0) {
		return true;
	}
	(void)warn(client, "cannot read the token", why.text);
	delivery_postpone_hello(client->delivery, now_us);
	return false;
}

static void send_next(struct report_client *client, uint64_t now_us)
{
	struct buffer bytes = BUFFER_MAX(MQ_SEND_MAX);
	uint64_t wait_until_us = 0;
	char *token = NULL;

	if (read_token(client, &token, now_us) &&
		delivery_next(client->delivery, &bytes, token, now_us)) {
		assert(!bytes.overflowed); /* the ring's limits are lower */
		mq_client_send(client->mq, (const uint8_t *)bytes.data,
			bytes.len);
	} else {
		wait_until_us = delivery_waits_until_us(client->delivery);
	}
	if (wait_until_us > now_us) {
		timer_start(client->retry, (wait_until_us - now_us) / 1000 + 1,
			0);
	}
	if (token != NULL && bytes.data != NULL) {
		explicit_bzero(bytes.data, bytes.capacity);
	}
	credentials_free_token(token);
	buffer_fini(&bytes);
}

void report_client_wake(struct report_client *client)
{
	if (mq_client_busy(client->mq)) {
		return;
	}
	if (!mq_client_connected(client->mq)) {
		await_connection(client);
		return;
	}
	client->lost_us = 0;
	send_next(client, clock_monotonic_us());
}

/* Whether a connection that was lost a moment ago may come back yet. */
static bool may_return(struct report_client *client)
{
	await_connection(client);
	return clock_monotonic_us() - client->lost_us < RETURNS_WITHIN_US;
}

bool report_client_drain(struct report_client *client)
{
	bool has_unsent = delivery_flush(client->delivery);

	if (!mq_client_connected(client->mq)) {
		return !has_unsent || !may_return(client);
	}
	if (mq_client_busy(client->mq)) {
		return false;
	}
	if (!has_unsent) {
		return true;
	}
	report_client_wake(client);
	return false;
}

bool report_client_is_delivering(const struct report_client *client)
{
	return client->is_accepted && mq_client_connected(client->mq);
}

uint32_t report_client_interval_hint_ms(const struct report_client *client)
{
	return delivery_interval_hint_ms(client->delivery);
}

void report_client_close(struct report_client *client)
{
	if (client == NULL) {
		return;
	}
	tls_watch_remove(&client->on_tls);
	mq_client_close(client->mq);
	timer_close(client->retry);
	delivery_free(client->delivery);
	free(client);
}
