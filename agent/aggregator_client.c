#include "agent/aggregator_client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/credentials.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/mq.h"

enum {
	ANSWER_MS = 15000,
	/* While there is no connection; nobody tells when there is one. */
	POLL_MS = 250,
};

#define LOG_EVERY_US UINT64_C(10000000)
/* A connection comes back in this time when an aggregator is restarted; and
 * the first dial is spread over a while. */
#define LOST_FOR_US UINT64_C(4000000)

struct uplink {
	const char *url, *token_file;
	struct mq_client *client;
	struct session *session;
	struct timer *retry;
	struct log_limit trouble, refusals, silence, unsaved, tokens;
	bool is_taken;	  /* by the last answer */
	uint64_t lost_us; /* no connection since; 0: there is one */
};

/* Only where there was something to recover from. */
static void tell_recovery(struct uplink *uplink)
{
	if (uplink->trouble.last_us != 0 || uplink->silence.last_us != 0) {
		log_info("reports arrive again",
			log_str("aggregator", uplink->url), LOG_END);
	}
	uplink->trouble = (struct log_limit){ 0 };
	uplink->silence = (struct log_limit){ 0 };
}

static void log_event(struct uplink *uplink, enum session_event event,
	const struct error *why)
{
	struct log_field url = log_str("aggregator", uplink->url);
	uint64_t now_us = clock_monotonic_us();

	switch (event) {
	case SESSION_WELCOMED:
		log_info("connected", url, LOG_END);
		break;
	case SESSION_STORED:
		tell_recovery(uplink);
		break;
	case SESSION_HELLO_DUE:
		log_debug("the aggregator asks who we are", url, LOG_END);
		break;
	case SESSION_RECEIVED:
		if (log_allow(&uplink->unsaved, now_us, 6 * LOG_EVERY_US,
			    NULL)) {
			log_warning(
				"the aggregator does not get reports to "
				"its disk; they are kept here",
				url, LOG_END);
		}
		break;
	case SESSION_REFUSED:
		if (log_allow(&uplink->refusals, now_us, LOG_EVERY_US, NULL)) {
			log_warning("the aggregator refused a request", url,
				log_err(why), LOG_END);
		}
		break;
	case SESSION_DROPPED:
		log_error(
			"a report is lost: the aggregator refused it again "
			"and again",
			url, log_err(why), LOG_END);
		break;
	case SESSION_NO_ANSWER:
		if (log_allow(&uplink->silence, now_us, LOG_EVERY_US, NULL)) {
			log_warning("a request failed and will be repeated",
				url, log_err(why), LOG_END);
		}
		break;
	}
}

static void on_answer(void *owner, const uint8_t *bytes, size_t len)
{
	struct uplink *uplink = owner;
	struct error why = { 0 };
	enum session_event event = session_answer(uplink->session, bytes, len,
		clock_monotonic_us(), &why);

	uplink->is_taken = event == SESSION_STORED || event == SESSION_RECEIVED;
	log_event(uplink, event, &why);
	uplink_kick(uplink);
}

static void on_retry(void *owner)
{
	uplink_kick(owner);
}

int uplink_new(struct uplink **out, uv_loop_t *loop,
	const struct uplink_options *options, struct error *err)
{
	struct uplink *uplink = xcalloc(1, sizeof(*uplink));
	const struct mq_client_options client = {
		.url = options->url,
		.tls = options->tls,
		.server_name = options->server_name,
		.timeout_ms = ANSWER_MS,
		.answer = on_answer,
		.owner = uplink,
	};
	int r = mq_client_new(&uplink->client, loop, &client, err);

	if (r < 0) {
		free(uplink);
		return r;
	}
	uplink->url = options->url;
	uplink->token_file = options->token_file;
	uplink->session = session_new(&options->session);
	uplink->retry = timer_new(loop, on_retry, uplink);
	*out = uplink;
	return 0;
}

/* Without a connection nothing is handed over: a batch says when it was sent,
 * and must not wait inside the transport after that. */
static void await_connection(struct uplink *uplink)
{
	uint64_t now_us = clock_monotonic_us();

	timer_start(uplink->retry, POLL_MS, 0);
	if (uplink->lost_us == 0) {
		uplink->lost_us = now_us;
	}
	if (now_us - uplink->lost_us > LOST_FOR_US &&
		log_allow(&uplink->trouble, now_us, LOG_EVERY_US, NULL)) {
		log_warning("no connection to the aggregator",
			log_str("aggregator", uplink->url),
			log_str("why", mq_client_trouble(uplink->client)),
			LOG_END);
	}
}

/* False: there should be a token and is none; Hello waits. */
static bool take_token(struct uplink *uplink, char **token, uint64_t now_us)
{
	struct error why;

	if (uplink->token_file == NULL ||
		!session_hello_is_due(uplink->session, now_us)) {
		return true;
	}
	if (dial_read_token(token, uplink->token_file, &why) == 0) {
		return true;
	}
	if (log_allow(&uplink->tokens, now_us, LOG_EVERY_US, NULL)) {
		log_warning("no token to show to the aggregator",
			log_str("aggregator", uplink->url), log_err(&why),
			LOG_END);
	}
	session_put_off_hello(uplink->session, now_us);
	return false;
}

static void say_next(struct uplink *uplink, uint64_t now_us)
{
	struct buffer bytes = BUFFER_MAX(MQ_SEND_MAX);
	char *token = NULL;

	if (take_token(uplink, &token, now_us) &&
		session_next(uplink->session, &bytes, token, now_us)) {
		/* The ring's limits are far below it. */
		assert(!bytes.overflowed);
		mq_client_send(uplink->client, (const uint8_t *)bytes.data,
			bytes.len);
	} else if (session_waits_until_us(uplink->session) > now_us) {
		uint64_t wait_us =
			session_waits_until_us(uplink->session) - now_us;

		timer_start(uplink->retry, wait_us / 1000 + 1, 0);
	}
	if (token != NULL && bytes.data != NULL) {
		explicit_bzero(bytes.data, bytes.capacity);
	}
	dial_free_token(token);
	buffer_fini(&bytes);
}

void uplink_kick(struct uplink *uplink)
{

	if (mq_client_busy(uplink->client)) {
		return;
	}
	if (!mq_client_connected(uplink->client)) {
		await_connection(uplink);
		return;
	}
	uplink->lost_us = 0;
	say_next(uplink, clock_monotonic_us());
}

bool uplink_drain(struct uplink *uplink)
{
	if (!mq_client_connected(uplink->client)) {
		return true;
	}
	if (mq_client_busy(uplink->client)) {
		return false;
	}
	if (!session_hurry(uplink->session)) {
		return true;
	}
	uplink_kick(uplink);
	return false;
}

bool uplink_is_taken(const struct uplink *uplink)
{
	return uplink->is_taken && mq_client_connected(uplink->client);
}

uint32_t uplink_interval_hint_ms(const struct uplink *uplink)
{
	return session_interval_hint_ms(uplink->session);
}

void uplink_close(struct uplink *uplink)
{
	if (uplink == NULL) {
		return;
	}
	mq_client_close(uplink->client);
	timer_close(uplink->retry);
	session_free(uplink->session);
	free(uplink);
}
