#include "scheduler/loads/move_history.h"

#include "lib/clock.h"
#include "lib/memory.h"
#include "proto/wire.h"
#include "scheduler/loads/aggregator_client.h"

#include <stdlib.h>

enum { REQUEST_MAX = 1024 };

/* One aggregator. */
struct source {
	struct move_history *history;
	struct aggregator_client *client;
	struct moves_request next; /* the page to ask for */
	bool is_due;		   /* a page is to be asked for */
	bool is_asking;		   /* a request is under way */
	bool is_outdated;	   /* its reply belongs to an earlier term */
	bool is_second;		   /* the second pass */
	bool has_answered;	   /* all pages of both passes came */
};

struct move_history {
	struct aggregators_options options;
	struct source sources[OPTION_LIST_MAX];
	size_t count;
	int64_t asked_us;  /* monotonic: when the asking began */
	uint64_t again_us; /* the second pass asks for records since then */
};

static bool pack_next(void *owner, struct buffer *out)
{
	struct source *source = owner;

	if (!source->is_due) {
		return false;
	}
	source->is_asking = true;
	source->is_outdated = false;
	wire_pack_moves_request(out, &source->next);
	return true;
}

static void end_pass(struct source *source)
{
	source->has_answered = source->is_second;
	source->is_due = !source->is_second;
	source->is_second = true;
	source->next = (struct moves_request){
		.since_us = source->history->again_us,
	};
}

static void take_page(struct source *source, const struct move_list *page)
{
	const struct aggregators_options *options = &source->history->options;

	for (size_t i = 0; i < page->count; i++) {
		options->on_move(options->owner, &page->records[i]);
	}
	/* A page that does not advance would be asked for again for ever. */
	source->is_due = page->next > source->next.after;
	source->next.after = page->next;
	if (!source->is_due) {
		end_pass(source);
	}
}

static enum aggregator_client_verdict on_reply(void *owner,
	const struct wire_reply *reply)
{
	struct source *source = owner;

	if (reply->kind != WIRE_MOVE_LIST) {
		return AGGREGATOR_CLIENT_UNEXPECTED;
	}
	source->is_asking = false;
	if (!source->is_outdated) {
		take_page(source, &reply->moves);
	}
	return AGGREGATOR_CLIENT_NEXT;
}

int move_history_new(struct move_history **out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err)
{
	struct move_history *history = xcalloc(1, sizeof(*history));
	int r = 0;

	history->options = *options;
	while (r == 0 && history->count < options->urls->count) {
		struct source *source = &history->sources[history->count];

		source->history = history;
		r = aggregator_client_new(&source->client, loop,
			&(const struct aggregator_client_options){
				.url = options->urls->items[history->count],
				.credentials = options->credentials,
				.tls = options->tls,
				.request_max = REQUEST_MAX,
				.failure = "cannot get the records of moves",
				.next = pack_next,
				.reply = on_reply,
				.owner = source,
			},
			err);
		history->count += r == 0;
	}
	if (r < 0) {
		move_history_close(history);
		return r;
	}
	*out = history;
	return 0;
}

void move_history_ask(struct move_history *history, uint64_t since_us,
	uint64_t again_us)
{
	history->again_us = again_us;
	history->asked_us = (int64_t)clock_monotonic_us();
	for (size_t i = 0; i < history->count; i++) {
		struct source *source = &history->sources[i];

		source->next = (struct moves_request){ .since_us = since_us };
		source->is_due = true;
		source->is_outdated = source->is_asking;
		source->is_second = false;
		source->has_answered = false;
		aggregator_client_send_next(source->client);
	}
}

size_t move_history_answered(const struct move_history *history)
{
	size_t count = 0;

	for (size_t i = 0; i < history->count; i++) {
		count += history->sources[i].has_answered;
	}
	return count;
}

static bool has_connected_answer(const struct move_history *history)
{
	for (size_t i = 0; i < history->count; i++) {
		const struct source *source = &history->sources[i];

		if (source->has_answered &&
			aggregator_client_is_connected(source->client)) {
			return true;
		}
	}
	return false;
}

bool move_history_is_known(const struct move_history *history)
{
	return has_connected_answer(history) &&
		(move_history_answered(history) == history->count ||
			(int64_t)clock_monotonic_us() - history->asked_us >=
				MOVE_HISTORY_WAIT_US);
}

void move_history_close(struct move_history *history)
{
	if (history == NULL) {
		return;
	}
	for (size_t i = 0; i < history->count; i++) {
		aggregator_client_close(history->sources[i].client);
	}
	free(history);
}
