#include "scheduler/loads/question_client.h"

#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "proto/wire.h"
#include "scheduler/loads/aggregator_client.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
	PARK_MAX = 1024,
	PART_MAX = ANSWER_PART_MAX + 1024, /* with its envelope */
};

struct held {
	uint64_t id, term;
	bool is_answered;
	unsigned status;
	struct buffer body;
	size_t sent; /* bytes that the aggregator has */
	size_t part; /* bytes of the part under way */
};

/* One aggregator. */
struct source {
	struct question_client *owner;
	struct aggregator_client *parking, *answering;
	struct held held[QUESTIONS_HELD_MAX]; /* the oldest first */
	size_t count;
	uint64_t sending_id, sending_term; /* of the part under way */
	uint64_t old_us; /* since when it is known to be too old; 0: not */
};

struct question_client {
	struct question_listener listener; /* zeroed: not yet */
	struct rebalance_teller teller;	   /* zeroed: none */
	struct source sources[OPTION_LIST_MAX];
	size_t count;
	struct timer *poll;
	uint64_t term; /* 0: this replica does not lead */
};

/* ---- terms ---- */

static uint64_t new_term(void)
{
	uint64_t term = 0;

	if (getrandom(&term, sizeof(term), GRND_NONBLOCK) !=
		(ssize_t)sizeof(term)) {
		term = clock_wall_us();
	}
	return term == 0 ? 1 : term;
}

static bool leads(struct question_client *client)
{
	bool is_leader = client->listener.leads != NULL &&
		client->listener.leads(client->listener.owner);

	if (!is_leader) {
		client->term = 0;
	} else if (client->term == 0) {
		client->term = new_term();
	}
	return is_leader;
}

/* ---- held questions ---- */

static struct held *find(struct source *source, uint64_t id, uint64_t term)
{
	for (size_t i = 0; i < source->count; i++) {
		if (source->held[i].id == id && source->held[i].term == term) {
			return &source->held[i];
		}
	}
	return NULL;
}

static void drop(struct source *source, struct held *held)
{
	size_t index = (size_t)(held - source->held);

	buffer_fini(&held->body);
	source->count--;
	memmove(held, held + 1, (source->count - index) * sizeof(*held));
}

/* The answer of which parts went out already, or the oldest. */
static struct held *next_answered(struct source *source)
{
	struct held *next = NULL;

	for (size_t i = 0; i < source->count; i++) {
		struct held *held = &source->held[i];

		if (held->is_answered &&
			(next == NULL || (next->sent == 0 && held->sent > 0))) {
			next = held;
		}
	}
	return next;
}

static struct held *sending(struct source *source)
{
	return find(source, source->sending_id, source->sending_term);
}

/* ---- parking ---- */

void question_client_rebalance(const struct question_client *client,
	struct rebalance_state *out)
{
	*out = (struct rebalance_state){ 0 };
	if (client->teller.tell != NULL) {
		client->teller.tell(client->teller.owner, out);
	}
}

static bool may_park(struct source *source)
{
	return source->old_us == 0 && source->count < QUESTIONS_HELD_MAX &&
		leads(source->owner);
}

static bool pack_park(void *owner, struct buffer *out)
{
	struct source *source = owner;
	struct question_request request = { 0 };

	if (!may_park(source)) {
		return false;
	}
	request.term = source->owner->term;
	request.kinds = QUESTION_KINDS;
	for (size_t i = 0; i < source->count; i++) {
		if (source->held[i].term == request.term) {
			request.held[request.held_count++] = source->held[i].id;
		}
	}
	question_client_rebalance(source->owner, &request.rebalance);
	wire_pack_question_request(out, &request);
	return true;
}

static void take(struct source *source, const struct question *question)
{
	struct question_client *client = source->owner;
	const struct question_ref ref = {
		.aggregator = (size_t)(source - client->sources),
		.id = question->id,
		.term = client->term,
	};

	source->held[source->count++] = (struct held){ .id = ref.id,
		.term = ref.term,
		.body = BUFFER_MAX(ANSWER_BODY_MAX) };
	client->listener.ask(client->listener.owner, question, ref);
}

/* The leader that lost its lease meanwhile drops the question: the next leader
 * gets it, once it parks. */
static enum aggregator_client_verdict on_question(void *owner,
	const struct wire_reply *reply)
{
	struct source *source = owner;

	if (reply->kind != WIRE_QUESTION) {
		return AGGREGATOR_CLIENT_UNEXPECTED;
	}
	if (reply->question.id != 0 && source->count < QUESTIONS_HELD_MAX &&
		leads(source->owner) &&
		find(source, reply->question.id, source->owner->term) == NULL) {
		take(source, &reply->question);
	}
	return AGGREGATOR_CLIENT_NEXT;
}

/* The aggregator does not know the message. The caller logs why. */
static bool on_refused(void *owner)
{
	struct source *source = owner;

	source->old_us = clock_monotonic_us();
	return true;
}

/* ---- answering ---- */

static bool pack_answer(void *owner, struct buffer *out)
{
	struct source *source = owner;
	struct held *held = next_answered(source);
	size_t left;

	if (held == NULL) {
		return false;
	}
	source->sending_id = held->id;
	source->sending_term = held->term;
	left = held->body.len - held->sent;
	held->part = left < ANSWER_PART_MAX ? left : ANSWER_PART_MAX;
	wire_pack_answer(out,
		&(const struct answer_part){ .id = held->id,
			.term = held->term,
			.status = held->status,
			.offset = (uint32_t)held->sent,
			.has_more = held->part < left,
			.body = held->body.data == NULL
				? NULL
				: held->body.data + held->sent,
			.len = held->part });
	return true;
}

static enum aggregator_client_verdict on_ack(void *owner,
	const struct wire_reply *reply)
{
	struct source *source = owner;
	struct held *held = sending(source);

	if (reply->kind != WIRE_ANSWER_ACK) {
		return AGGREGATOR_CLIENT_UNEXPECTED;
	}
	if (held == NULL) {
		return AGGREGATOR_CLIENT_NEXT;
	}
	held->sent += held->part;
	if (!reply->answer_ack.is_wanted || held->sent == held->body.len) {
		drop(source, held);
		aggregator_client_send_next(source->parking);
	}
	return AGGREGATOR_CLIENT_NEXT;
}

/* The aggregator takes no such answer, whatever the reason. */
static bool on_answer_refused(void *owner)
{
	struct source *source = owner;
	struct held *held = sending(source);

	if (held != NULL) {
		drop(source, held);
	}
	return true;
}

static void set_answer(struct question_client *client, struct held *held,
	unsigned status, const char *body, size_t len)
{
	held->is_answered = true;
	held->status = status;
	buffer_append(&held->body, body, len);
	if (held->body.overflowed) {
		held->status = 500;
		buffer_clear(&held->body);
		buffer_text(&held->body, "the answer is too long");
	}
	/* Without a body: the question is given back. */
	if (!leads(client) || client->term != held->term) {
		held->status = 503;
		buffer_clear(&held->body);
	}
}

void question_client_answer(struct question_client *client,
	const struct question_ref *ref, unsigned status, const char *body,
	size_t len)
{
	struct source *source = &client->sources[ref->aggregator];
	struct held *held = find(source, ref->id, ref->term);

	if (held != NULL && !held->is_answered) {
		set_answer(client, held, status, body, len);
		aggregator_client_send_next(source->answering);
	}
}

/* ---- life ---- */

static void note_new_connection(struct source *source)
{
	uint64_t now_us = clock_monotonic_us();

	if (source->old_us != 0 &&
		(now_us - source->old_us >= QUESTION_CLIENT_OLD_US ||
			!aggregator_client_is_connected(source->parking))) {
		source->old_us = 0;
	}
}

static void on_poll(void *owner)
{
	struct question_client *client = owner;

	for (size_t i = 0; i < client->count; i++) {
		note_new_connection(&client->sources[i]);
		aggregator_client_send_next(client->sources[i].parking);
	}
}

void question_client_listen(struct question_client *client,
	const struct question_listener *listener)
{
	client->listener = *listener;
	timer_start(client->poll, 0, QUESTION_CLIENT_POLL_MS);
}

void question_client_tell(struct question_client *client,
	const struct rebalance_teller *teller)
{
	client->teller = *teller;
}

static int open_source(struct source *source, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err)
{
	struct aggregator_client_options o = {
		.url = options->urls->items[source->owner->count],
		.credentials = options->credentials,
		.tls = options->tls,
		.request_max = PARK_MAX,
		.failure = "the aggregator passes on no questions of users",
		.next = pack_park,
		.reply = on_question,
		.refused = on_refused,
		.owner = source,
	};
	int r = aggregator_client_new(&source->parking, loop, &o, err);

	o.request_max = PART_MAX;
	o.failure = "the aggregator takes no answer";
	o.next = pack_answer;
	o.reply = on_ack;
	o.refused = on_answer_refused;
	return r < 0 ? r
		     : aggregator_client_new(&source->answering, loop, &o, err);
}

int question_client_new(struct question_client **out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err)
{
	struct question_client *client = xcalloc(1, sizeof(*client));
	int r = 0;

	client->poll = timer_new(loop, on_poll, client);
	for (size_t i = 0; r == 0 && i < options->urls->count; i++) {
		struct source *source = &client->sources[i];

		source->owner = client;
		r = open_source(source, loop, options, err);
		client->count++;
	}
	if (r < 0) {
		question_client_close(client);
		return r;
	}
	*out = client;
	return 0;
}

void question_client_close(struct question_client *client)
{
	if (client == NULL) {
		return;
	}
	for (size_t i = 0; i < client->count; i++) {
		struct source *source = &client->sources[i];

		aggregator_client_close(source->parking);
		aggregator_client_close(source->answering);
		while (source->count > 0) {
			drop(source, &source->held[source->count - 1]);
		}
	}
	timer_close(client->poll);
	free(client);
}
