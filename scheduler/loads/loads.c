#include "scheduler/loads/loads.h"

#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "proto/wire.h"
#include "scheduler/loads/aggregator_client.h"

#include <stdlib.h>

enum {
	CHECK_MS = 5000,
	REQUEST_MAX = 1024,
};

/* One aggregator. */
struct source {
	struct loads *loads;
	const char *url;
	struct speaker *speaker;
	struct snapshot_request next; /* what we have of it */
	bool has_answered;
};

struct loads {
	struct source sources[OPTION_LIST_MAX];
	size_t count;
	struct timer *check;
	loads_node on_node;
	void *owner;
};

static bool pack_next(void *owner, struct buffer *out)
{
	const struct source *source = owner;

	wire_pack_snapshot_request(out, &source->next);
	return true;
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

static enum speaker_turn on_reply(void *owner, const struct wire_reply *reply)
{
	if (reply->kind != WIRE_SNAPSHOT) {
		return SPEAKER_MISFIT;
	}
	take_snapshot(owner, &reply->snapshot);
	return SPEAKER_GO_ON;
}

static void check(void *owner)
{
	struct loads *loads = owner;

	for (size_t i = 0; i < loads->count; i++) {
		speaker_complain(loads->sources[i].speaker);
	}
}

static int open_sources(struct loads *loads, uv_loop_t *loop,
	const struct loads_options *options, struct error *err)
{
	int r = 0;

	while (r == 0 && loads->count < options->aggregators->count) {
		struct source *source = &loads->sources[loads->count];
		const char *url = options->aggregators->items[loads->count];

		source->loads = loads;
		source->url = url;
		r = speaker_new(&source->speaker, loop,
			&(const struct speaker_options){
				.url = url,
				.dial = options->dial,
				.request_max = REQUEST_MAX,
				.complaint = "no load from the aggregator",
				.next = pack_next,
				.reply = on_reply,
				.owner = source,
			},
			err);
		if (r == 0) {
			loads->count++;
			speaker_go_on(source->speaker);
		}
	}
	return r;
}

int loads_new(struct loads **out, uv_loop_t *loop,
	const struct loads_options *options, struct error *err)
{
	struct loads *loads = xcalloc(1, sizeof(*loads));
	int r;

	loads->on_node = options->on_node;
	loads->owner = options->owner;
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

size_t loads_connected(const struct loads *loads, size_t *of)
{
	size_t connected = 0;

	for (size_t i = 0; i < loads->count; i++) {
		if (speaker_is_connected(loads->sources[i].speaker)) {
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
		speaker_close(loads->sources[i].speaker);
	}
	timer_close(loads->check);
	free(loads);
}
