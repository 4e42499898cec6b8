#include "scheduler/loads/aggregator_client.h"

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/mq.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
	/* Three times what an aggregator may hold a request. */
	ANSWER_MS = 30000,
	RETRY_MS = 2000,
	REFUSED_MS = 10000,
	HELLO_MAX = DIAL_TOKEN_MAX + 1024,
};
#define COMPLAIN_US UINT64_C(10000000)

struct speaker {
	struct speaker_options options;
	struct mq_client *client;
	struct timer *retry;
	struct log_limit limit;
	struct hello hello; /* but for the token */
	bool wants_hello;   /* it comes next */
	bool hello_sent;    /* the request under way is Hello */
	bool is_stranger;   /* greeted, but nothing came of it yet */
	bool is_waiting;    /* for the timer */
};

static void complain(struct speaker *speaker, const char *why)
{
	uint64_t held = 0;

	if (log_allow(&speaker->limit, clock_monotonic_us(), COMPLAIN_US,
		    &held)) {
		log_warning(speaker->options.complaint,
			log_str("aggregator", speaker->options.url),
			log_str("err", why),
			log_int("suppressed", (int64_t)held), LOG_END);
	}
}

static void wait_for(struct speaker *speaker, uint64_t ms)
{
	speaker->is_waiting = true;
	timer_start(speaker->retry, ms, 0);
}

/* False: the token that should be shown cannot be read. */
static bool pack_hello(struct speaker *speaker, struct buffer *request)
{
	struct hello hello = speaker->hello;
	const char *file = speaker->options.dial->token_file;
	struct error err;

	if (file != NULL && dial_read_token(&hello.token, file, &err) < 0) {
		complain(speaker, err.text);
		return false;
	}
	wire_pack_hello(request, &hello);
	dial_free_token(hello.token);
	return true;
}

void speaker_go_on(struct speaker *speaker)
{
	const struct speaker_options *o = &speaker->options;
	scoped_buffer struct buffer request = BUFFER_MAX(
		o->request_max > HELLO_MAX ? o->request_max : HELLO_MAX);

	if (mq_client_busy(speaker->client) || speaker->is_waiting) {
		return;
	}
	speaker->hello_sent = speaker->wants_hello;
	if (speaker->wants_hello) {
		if (!pack_hello(speaker, &request)) {
			wait_for(speaker, REFUSED_MS);
			return;
		}
	} else if (!o->next(o->owner, &request)) {
		return;
	}
	mq_client_send(speaker->client, (const uint8_t *)request.data,
		request.len);
	explicit_bzero(request.data, request.capacity);
}

static void on_retry(void *owner)
{
	struct speaker *speaker = owner;

	speaker->is_waiting = false;
	speaker_go_on(speaker);
}

/* It does not know us (any more). Told so twice without an answer between, we
 * do not spin with it. */
static void greet_again(struct speaker *speaker)
{
	speaker->wants_hello = true;
	if (speaker->is_stranger) {
		complain(speaker, "the aggregator asks for Hello again");
		wait_for(speaker, RETRY_MS);
		return;
	}
	speaker->is_stranger = true;
	speaker_go_on(speaker);
}

static void hand_over(struct speaker *speaker, const struct wire_reply *reply)
{
	switch (speaker->options.reply(speaker->options.owner, reply)) {
	case SPEAKER_GO_ON:
		speaker->is_stranger = false;
		speaker_go_on(speaker);
		break;
	case SPEAKER_WAIT:
		speaker->is_stranger = false;
		wait_for(speaker, RETRY_MS);
		break;
	case SPEAKER_MISFIT:
		complain(speaker, "an answer to something else");
		wait_for(speaker, RETRY_MS);
		break;
	}
}

static void take_reply(struct speaker *speaker, const struct wire_reply *reply)
{
	if (reply->kind == WIRE_REFUSED) {
		complain(speaker, reply->refused);
		wait_for(speaker, speaker->hello_sent ? REFUSED_MS : RETRY_MS);
	} else if (reply->kind == WIRE_WELCOME && speaker->hello_sent) {
		speaker->wants_hello = false;
		speaker_go_on(speaker);
	} else if (speaker->hello_sent) {
		complain(speaker, "an answer to something else");
		wait_for(speaker, RETRY_MS);
	} else if (reply->kind == WIRE_ACK && reply->ack.need_hello) {
		greet_again(speaker);
	} else {
		hand_over(speaker, reply);
	}
}

static void on_answer(void *owner, const uint8_t *bytes, size_t len)
{
	struct speaker *speaker = owner;
	struct wire_reply reply;
	struct error err;

	if (bytes == NULL) {
		speaker_go_on(speaker);
		return;
	}
	if (wire_unpack_reply(&reply, bytes, len, &err) < 0) {
		complain(speaker, err.text);
		wait_for(speaker, RETRY_MS);
		return;
	}
	take_reply(speaker, &reply);
	wire_reply_fini(&reply);
}

/* The node a scheduler speaks for is itself. */
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

static int connect_to(struct speaker *speaker, uv_loop_t *loop,
	struct error *err)
{
	const struct dial_config *dial = speaker->options.dial;
	struct tls_material tls = { 0 };
	const struct mq_client_options client = {
		.url = speaker->options.url,
		.tls = dial_uses_tls(dial) ? &tls : NULL,
		.server_name = dial->server_name,
		.timeout_ms = ANSWER_MS,
		.answer = on_answer,
		.owner = speaker,
	};
	int r = tls_load(&tls, &dial->tls, err);

	if (r == 0) {
		r = mq_client_new(&speaker->client, loop, &client, err);
		r = r < 0 ? error_wrap(err, r, "--aggregator") : 0;
	}
	tls_fini(&tls);
	return r;
}

int speaker_new(struct speaker **out, uv_loop_t *loop,
	const struct speaker_options *options, struct error *err)
{
	struct speaker *speaker = xcalloc(1, sizeof(*speaker));
	int r = make_hello(&speaker->hello, err);

	speaker->options = *options;
	speaker->wants_hello = options->dial->token_file != NULL;
	if (r == 0) {
		r = connect_to(speaker, loop, err);
	}
	if (r < 0) {
		free(speaker);
		return r;
	}
	speaker->retry = timer_new(loop, on_retry, speaker);
	*out = speaker;
	return 0;
}

bool speaker_is_connected(const struct speaker *speaker)
{
	return mq_client_connected(speaker->client);
}

void speaker_complain(struct speaker *speaker)
{
	if (!mq_client_connected(speaker->client)) {
		complain(speaker, mq_client_trouble(speaker->client));
	}
}

void speaker_close(struct speaker *speaker)
{
	if (speaker != NULL) {
		mq_client_close(speaker->client);
		timer_close(speaker->retry);
		free(speaker);
	}
}
