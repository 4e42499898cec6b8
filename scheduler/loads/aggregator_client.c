#include "scheduler/loads/aggregator_client.h"

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/mq/mq.h"
#include "proto/wire_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
	/* Three times as long as an aggregator may hold a request. */
	REPLY_MS = 30000,
	RETRY_MS = 2000,
	REFUSED_MS = 10000,
	HELLO_MAX = CREDENTIALS_TOKEN_MAX + 1024,
};
#define LOG_AGAIN_US UINT64_C(60000000)

static const char unexpected[] = "the reply does not fit the request";

struct aggregator_client {
	struct aggregator_client_options options;
	struct mq_client *mq;
	struct tls_watcher on_tls;
	struct timer *retry;
	struct log_topics failures;
	struct hello hello; /* without the token */
	struct wire_session session;
	bool is_waiting; /* the timer runs */
};

static void log_failure(struct aggregator_client *client, const char *why)
{
	uint64_t held = 0;

	if (log_allow_topic(&client->failures, clock_monotonic_us(),
		    LOG_AGAIN_US, why, &held)) {
		log_warning(client->options.failure,
			log_str("aggregator", client->options.url),
			log_str("err", why),
			log_int("suppressed", (int64_t)held), LOG_END);
	}
}

static void wait_for(struct aggregator_client *client, uint64_t ms)
{
	client->is_waiting = true;
	timer_start(client->retry, ms, 0);
}

static void fail(struct aggregator_client *client, const char *why, uint64_t ms)
{
	log_failure(client, why);
	wait_for(client, ms);
}

/* False: the token cannot be read. */
static bool pack_hello(struct aggregator_client *client, struct buffer *request)
{
	struct hello hello = client->hello;
	const char *file = client->options.credentials->token_file;
	struct error err;

	if (file != NULL &&
		credentials_read_token(&hello.token, file, &err) < 0) {
		log_failure(client, err.text);
		return false;
	}
	wire_pack_hello(request, &hello);
	credentials_free_token(hello.token);
	return true;
}

void aggregator_client_send_next(struct aggregator_client *client)
{
	const struct aggregator_client_options *o = &client->options;
	scoped_buffer struct buffer request = BUFFER_SECRET(
		o->request_max > HELLO_MAX ? o->request_max : HELLO_MAX);

	if (mq_client_busy(client->mq) || client->is_waiting) {
		return;
	}
	if (wire_session_begin(&client->session)) {
		if (!pack_hello(client, &request)) {
			wait_for(client, REFUSED_MS);
			return;
		}
	} else if (!o->next(o->owner, &request)) {
		return;
	}
	mq_client_send(client->mq, (const uint8_t *)request.data, request.len);
}

static void on_retry(void *owner)
{
	struct aggregator_client *client = owner;

	client->is_waiting = false;
	aggregator_client_send_next(client);
}

static void pass_reply(struct aggregator_client *client,
	const struct wire_reply *reply)
{
	switch (client->options.reply(client->options.owner, reply)) {
	case AGGREGATOR_CLIENT_NEXT:
		aggregator_client_send_next(client);
		break;
	case AGGREGATOR_CLIENT_WAIT:
		wait_for(client, RETRY_MS);
		break;
	case AGGREGATOR_CLIENT_UNEXPECTED:
		fail(client, unexpected, RETRY_MS);
		break;
	}
}

static void take_refusal(struct aggregator_client *client,
	const struct wire_reply *reply)
{
	const struct aggregator_client_options *o = &client->options;

	if (client->session.sent_hello) {
		fail(client, reply->refused, REFUSED_MS);
	} else if (reply->retry_ms == 0 && o->refused != NULL &&
		o->refused(o->owner)) {
		log_failure(client, reply->refused);
		aggregator_client_send_next(client);
	} else {
		fail(client, reply->refused, RETRY_MS);
	}
}

static void handle_reply(struct aggregator_client *client,
	const struct wire_reply *reply)
{
	switch (wire_session_take(&client->session, reply)) {
	case WIRE_SESSION_REPLY:
		pass_reply(client, reply);
		break;
	case WIRE_SESSION_WELCOMED:
	case WIRE_SESSION_HELLO_DUE:
		aggregator_client_send_next(client);
		break;
	case WIRE_SESSION_REFUSED:
		take_refusal(client, reply);
		break;
	case WIRE_SESSION_HELLO_LOOP:
		fail(client, "the aggregator asks for Hello again", RETRY_MS);
		break;
	case WIRE_SESSION_UNEXPECTED:
		fail(client, unexpected, RETRY_MS);
		break;
	}
}

static void on_reply(void *owner, const uint8_t *bytes, size_t len)
{
	struct aggregator_client *client = owner;
	struct wire_reply reply;
	struct error err;

	if (bytes == NULL) {
		aggregator_client_send_next(client);
		return;
	}
	if (wire_unpack_reply(&reply, bytes, len, &err) < 0) {
		fail(client, err.text, RETRY_MS);
		return;
	}
	handle_reply(client, &reply);
	wire_reply_fini(&reply);
}

/* A scheduler's Hello names its own host. */
static int make_hello(struct hello *out, struct error *err)
{
	struct hello hello = { .role = HELLO_SCHEDULER };

	if (getrandom(hello.run_id, sizeof(hello.run_id), 0) !=
		(ssize_t)sizeof(hello.run_id)) {
		return error_errno(err, "cannot make a run id");
	}
	if (gethostname(hello.node, sizeof(hello.node) - 1) != 0) {
		return error_errno(err, "cannot read the host's name");
	}
	(void)snprintf(hello.version, sizeof(hello.version), "%s",
		plimsoll_version);
	*out = hello;
	return 0;
}

static int set_tls(void *owner, const struct tls_material *tls,
	struct error *err)
{
	struct aggregator_client *client = owner;

	return mq_client_set_tls(client->mq, tls, err);
}

static int connect_to(struct aggregator_client *client, uv_loop_t *loop,
	struct error *err)
{
	struct tls_watch *tls = client->options.tls;
	const struct mq_client_options options = {
		.url = client->options.url,
		.tls = tls_watch_material(tls),
		.server_name = client->options.credentials->server_name,
		.timeout_ms = REPLY_MS,
		.on_reply = on_reply,
		.owner = client,
	};
	int r = mq_client_new(&client->mq, loop, &options, err);

	if (r < 0) {
		return error_wrap(err, r, "--aggregator");
	}
	client->on_tls.set = set_tls;
	client->on_tls.owner = client;
	if (tls != NULL) {
		tls_watch_add(tls, &client->on_tls);
	}
	return 0;
}

int aggregator_client_new(struct aggregator_client **out, uv_loop_t *loop,
	const struct aggregator_client_options *options, struct error *err)
{
	struct aggregator_client *client = xcalloc(1, sizeof(*client));
	int r = make_hello(&client->hello, err);

	client->options = *options;
	client->session.needs_hello = options->credentials->token_file != NULL;
	r = r < 0 ? r : connect_to(client, loop, err);
	if (r < 0) {
		free(client);
		return r;
	}
	client->retry = timer_new(loop, on_retry, client);
	*out = client;
	return 0;
}

bool aggregator_client_is_connected(const struct aggregator_client *client)
{
	return mq_client_connected(client->mq);
}

void aggregator_client_log_failure(struct aggregator_client *client)
{
	if (!mq_client_connected(client->mq)) {
		log_failure(client, mq_client_last_error(client->mq));
	}
}

void aggregator_client_close(struct aggregator_client *client)
{
	if (client != NULL) {
		tls_watch_remove(&client->on_tls);
		mq_client_close(client->mq);
		timer_close(client->retry);
		free(client);
	}
}
