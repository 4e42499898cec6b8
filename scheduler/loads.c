#include "scheduler/loads.h"

#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/dial.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/mq.h"
#include "proto/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
	/* Three times what an aggregator may hold a request. */
	ASK_TIMEOUT_MS = 30000,
	RETRY_MS = 2000,
	CHECK_MS = 5000,
	REFUSED_MS = 10000,
	REQUEST_MAX = DIAL_TOKEN_MAX + 1024,
};
#define COMPLAIN_US UINT64_C(10000000)

/* One aggregator. */
struct source {
	struct loads *loads;
	const char *url;
	struct mq_client *client;
	struct timer *retry;
	struct snapshot_request next; /* what we have of it */
	struct log_limit limit;
	bool wants_hello; /* it comes next */
	bool hello_sent;  /* the request under way is Hello */
	bool is_stranger; /* greeted, but nothing came of it yet */
	bool has_answered;
};

struct loads {
	struct source sources[OPTION_LIST_MAX];
	size_t count;
	struct timer *check;
	const char *token_file;
	struct hello hello; /* the same for all, but for the token */
	loads_node on_node;
	void *owner;
};

static void complain(struct source *source, const char *why)
{
	uint64_t held = 0;

	if (log_allow(&source->limit, clock_monotonic_us(), COMPLAIN_US,
		    &held)) {
		log_warning("no load from the aggregator",
			log_str("aggregator", source->url), log_str("err", why),
			log_int("suppressed", (int64_t)held), LOG_END);
	}
}

/* False: the token that should be shown cannot be read. */
static bool pack_hello(struct source *source, struct buffer *request)
{
	struct hello hello = source->loads->hello;
	const char *file = source->loads->token_file;
	struct error err;

	if (file != NULL && dial_read_token(&hello.token, file, &err) < 0) {
		complain(source, err.text);
		return false;
	}
	wire_pack_hello(request, &hello);
	dial_free_token(hello.token);
	return true;
}

static void ask(void *owner)
{
	struct source *source = owner;
	scoped_buffer struct buffer request = BUFFER_MAX(REQUEST_MAX);

	if (mq_client_busy(source->client)) {
		return;
	}
	source->hello_sent = source->wants_hello;
	if (!source->wants_hello) {
		wire_pack_snapshot_request(&request, &source->next);
	} else if (!pack_hello(source, &request)) {
		timer_start(source->retry, REFUSED_MS, 0);
		return;
	}
	mq_client_send(source->client, (const uint8_t *)request.data,
		request.len);
	explicit_bzero(request.data, request.capacity);
}

static void take_snapshot(struct source *source, const struct snapshot *got)
{
	int64_t now_us = (int64_t)clock_monotonic_us();

	for (size_t i = 0; i < got->count; i++) {
		const struct node_load *load = &got->nodes[i];

		source->loads->on_node(source->loads->owner, load,
			now_us - (int64_t)load->age_us);
	}
	source->is_stranger = false;
	source->next.epoch = got->epoch;
	source->next.rev = got->rev;
	if (!source->has_answered) {
		source->has_answered = true;
		log_info("load is coming in",
			log_str("aggregator", source->url),
			log_int("nodes", (int64_t)got->count), LOG_END);
	}
}

/* It does not know us (any more). Told so twice without a snapshot between, we
 * do not spin with it. */
static void greet_again(struct source *source)
{
	source->wants_hello = true;
	if (source->is_stranger) {
		complain(source, "the aggregator asks for Hello again");
		timer_start(source->retry, RETRY_MS, 0);
		return;
	}
	source->is_stranger = true;
	ask(source);
}

static void take_reply(struct source *source, const struct wire_reply *reply)
{
	if (reply->kind == WIRE_SNAPSHOT && !source->hello_sent) {
		take_snapshot(source, &reply->snapshot);
		ask(source);
	} else if (reply->kind == WIRE_WELCOME && source->hello_sent) {
		source->wants_hello = false;
		ask(source);
	} else if (reply->kind == WIRE_ACK && reply->ack.need_hello &&
		!source->hello_sent) {
		greet_again(source);
	} else if (reply->kind == WIRE_REFUSED) {
		complain(source, reply->refused);
		timer_start(source->retry,
			source->hello_sent ? REFUSED_MS : RETRY_MS, 0);
	} else {
		complain(source, "an answer to something else");
		timer_start(source->retry, RETRY_MS, 0);
	}
}

static void on_answer(void *owner, const uint8_t *bytes, size_t len)
{
	struct source *source = owner;
	struct wire_reply reply;
	struct error err;

	if (bytes == NULL) {
		ask(source);
		return;
	}
	if (wire_unpack_reply(&reply, bytes, len, &err) < 0) {
		complain(source, err.text);
		timer_start(source->retry, RETRY_MS, 0);
		return;
	}
	take_reply(source, &reply);
	wire_reply_fini(&reply);
}

static void check(void *owner)
{
	struct loads *loads = owner;

	for (size_t i = 0; i < loads->count; i++) {
		struct source *source = &loads->sources[i];

		if (!mq_client_connected(source->client)) {
			complain(source, mq_client_trouble(source->client));
		}
	}
}

static int open_source(struct source *source, uv_loop_t *loop,
	const struct mq_client_options *common, struct error *err)
{
	struct mq_client_options options = *common;
	int r;

	options.owner = source;
	r = mq_client_new(&source->client, loop, &options, err);
	if (r < 0) {
		return r;
	}
	source->url = options.url;
	source->retry = timer_new(loop, ask, source);
	ask(source);
	return 0;
}

static int open_sources(struct loads *loads, uv_loop_t *loop,
	const struct loads_options *options, struct error *err)
{
	const struct dial_config *dial = options->dial;
	struct tls_material tls = { 0 };
	struct mq_client_options client = {
		.tls = dial_uses_tls(dial) ? &tls : NULL,
		.server_name = dial->server_name,
		.timeout_ms = ASK_TIMEOUT_MS,
		.answer = on_answer,
	};
	int r = tls_load(&tls, &dial->tls, err);

	while (r == 0 && loads->count < options->aggregators->count) {
		struct source *source = &loads->sources[loads->count];

		source->loads = loads;
		source->wants_hello = dial->token_file != NULL;
		client.url = options->aggregators->items[loads->count];
		r = open_source(source, loop, &client, err);
		if (r < 0) {
			(void)error_wrap(err, r, "--aggregator");
		} else {
			loads->count++;
		}
	}
	tls_fini(&tls);
	return r;
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

int loads_new(struct loads **out, uv_loop_t *loop,
	const struct loads_options *options, struct error *err)
{
	struct loads *loads = xcalloc(1, sizeof(*loads));
	int r = make_hello(&loads->hello, err);

	loads->on_node = options->on_node;
	loads->owner = options->owner;
	loads->token_file = options->dial->token_file;
	if (r == 0) {
		r = open_sources(loads, loop, options, err);
	}
	if (r < 0) {
		loads_close(loads);
		return r;
	}
	loads->check = timer_new(loop, check, loads);
	timer_start(loads->check, CHECK_MS, CHECK_MS);
	*out = loads;
	return 0;
}

bool loads_complete(const struct loads *loads)
{
	for (size_t i = 0; i < loads->count; i++) {
		if (!loads->sources[i].has_answered) {
			return false;
		}
	}
	return true;
}

size_t loads_connected(const struct loads *loads, size_t *of)
{
	size_t connected = 0;

	for (size_t i = 0; i < loads->count; i++) {
		if (mq_client_connected(loads->sources[i].client)) {
			connected++;
		}
	}
	*of = loads->count;
	return connected;
}

void loads_close(struct loads *loads)
{
	if (loads == NULL) {
		return;
	}
	for (size_t i = 0; i < loads->count; i++) {
		mq_client_close(loads->sources[i].client);
		timer_close(loads->sources[i].retry);
	}
	timer_close(loads->check);
	free(loads);
}
