#include "scheduler/loads/loads.h"

#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "proto/wire.h"
#include "scheduler/loads/aggregator_client.h"

#include <stdlib.h>

enum { CHECK_MS = 5000, REQUEST_MAX = 1024 };

/* One aggregator. */
struct source {
	struct loads *loads;
	const char *url;
	struct aggregator_client *client;
	struct snapshot_request next; /* the last snapshot we have */
	bool has_answered;
};

struct loads {
	struct source sources[OPTION_LIST_MAX];
	size_t count;
	struct timer *check;
	struct aggregators_options options;
};

static bool pack_next(void *owner, struct buffer *out)
{
	const struct source *source = owner;

	wire_pack_snapshot_request(out, &source->next);
	return true;
}

static void apply_snapshot(struct source *source, const struct snapshot *got)
{
	const struct aggregators_options *options = &source->loads->options;
	int64_t now_us = (int64_t)clock_monotonic_us();

	for (size_t i = 0; i < got->count; i++) {
		const struct node_load *load = &got->nodes[i];

		options->on_node(options->owner, load,
			now_us - (int64_t)load->age_us);
	}
	source->next.epoch = got->epoch;
	source->next.rev = got->rev;
	if (!source->has_answered) {
		source->has_answered = true;
		log_info("receiving load", log_str("aggregator", source->url),
			log_int("nodes", (int64_t)got->count), LOG_END);
	}
}

static enum aggregator_client_verdict on_reply(void *owner,
	const struct wire_reply *reply)
{
	if (reply->kind != WIRE_SNAPSHOT) {
		return AGGREGATOR_CLIENT_UNEXPECTED;
	}
	apply_snapshot(owner, &reply->snapshot);
	return AGGREGATOR_CLIENT_NEXT;
}

static void check(void *owner)
{
	struct loads *loads = owner;

	for (size_t i = 0; i < loads->count; i++) {
		aggregator_client_log_failure(loads->sources[i].client);
	}
}

static int open_sources(struct loads *loads, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err)
{
	int r = 0;

	while (r == 0 && loads->count < options->urls->count) {
		struct source *source = &loads->sources[loads->count];

		source->loads = loads;
		source->url = options->urls->items[loads->count];
		r = aggregator_client_new(&source->client, loop,
			&(const struct aggregator_client_options){
				.url = source->url,
				.credentials = options->credentials,
				.tls = options->tls,
				.request_max = REQUEST_MAX,
				.failure = "no load from the aggregator",
				.next = pack_next,
				.reply = on_reply,
				.owner = source,
			},
			err);
		if (r == 0) {
			loads->count++;
			aggregator_client_send_next(source->client);
		}
	}
	return r;
}

int loads_new(struct loads **out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err)
{
	struct loads *loads = xcalloc(1, sizeof(*loads));
	int r;

	loads->options = *options;
	r = open_sources(loads, loop, options, err);
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

size_t loads_connected(const struct loads *loads, size_t *total)
{
	size_t connected = 0;

	for (size_t i = 0; i < loads->count; i++) {
		if (aggregator_client_is_connected(loads->sources[i].client)) {
			connected++;
		}
	}
	*total = loads->count;
	return connected;
}

void loads_close(struct loads *loads)
{
	if (loads == NULL) {
		return;
	}
	for (size_t i = 0; i < loads->count; i++) {
		aggregator_client_close(loads->sources[i].client);
	}
	timer_close(loads->check);
	free(loads);
}
