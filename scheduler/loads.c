#include "scheduler/loads.h"

#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/mq.h"
#include "proto/wire.h"

#include <stdlib.h>

enum {
	/* Three times what an aggregator may hold a request. */
	ASK_TIMEOUT_MS = 30000,
	RETRY_MS = 2000,
	CHECK_MS = 5000,
	REQUEST_MAX = 64,
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
	bool has_answered;
};

struct loads {
	struct source sources[OPTION_LIST_MAX];
	size_t count;
	struct timer *check;
	loads_node on_node;
	void *owner;
};

static void ask(void *owner)
{
	struct source *source = owner;
	scoped_buffer struct buffer request = BUFFER_MAX(REQUEST_MAX);

	if (mq_client_busy(source->client)) {
		return;
	}
	wire_pack_snapshot_request(&request, &source->next);
	mq_client_send(source->client, (const uint8_t *)request.data,
		request.len);
}

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

static void take_snapshot(struct source *source, const struct snapshot *got)
{
	int64_t now_us = (int64_t)clock_monotonic_us();

	for (size_t i = 0; i < got->count; i++) {
		const struct node_load *load = &got->nodes[i];

		source->loads->on_node(source->loads->owner, load,
			now_us - (int64_t)load->age_us);
	}
	source->next.epoch = got->epoch;
	source->next.rev = got->rev;
	if (!source->has_answered) {
		source->has_answered = true;
		log_info("load is coming in",
			log_str("aggregator", source->url),
			log_int("nodes", (int64_t)got->count), LOG_END);
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
	if (reply.kind == WIRE_SNAPSHOT) {
		take_snapshot(source, &reply.snapshot);
		ask(source);
	} else {
		complain(source,
			reply.kind == WIRE_REFUSED
				? reply.refused
				: "an answer to something else");
		timer_start(source->retry, RETRY_MS, 0);
	}
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

static int open_source(struct source *source, struct loads *loads,
	uv_loop_t *loop, const char *url, struct error *err)
{
	struct mq_client_options options = {
		.url = url,
		.timeout_ms = ASK_TIMEOUT_MS,
		.answer = on_answer,
		.owner = source,
	};
	int r;

	source->loads = loads;
	source->url = url;
	r = mq_client_new(&source->client, loop, &options, err);
	if (r < 0) {
		return r;
	}
	source->retry = timer_new(loop, ask, source);
	ask(source);
	return 0;
}

int loads_new(struct loads **out, uv_loop_t *loop,
	const struct option_list *aggregators, loads_node on_node, void *owner,
	struct error *err)
{
	struct loads *loads = xcalloc(1, sizeof(*loads));

	loads->on_node = on_node;
	loads->owner = owner;
	for (; loads->count < aggregators->count; loads->count++) {
		int r = open_source(&loads->sources[loads->count], loads, loop,
			aggregators->items[loads->count], err);

		if (r < 0) {
			loads_close(loads);
			return error_wrap(err, r, "--aggregator");
		}
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
