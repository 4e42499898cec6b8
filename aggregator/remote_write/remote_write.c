#include "aggregator/remote_write/remote_write.h"

#include "aggregator/remote_write/batch.h"
#include "aggregator/remote_write/shard.h"
#include "kube/http.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/options.h"
#include "lib/tls/tls_watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TICK_MS = 1000,	    /* the reports of a second share their labels */
	TIMEOUT_MS = 30000, /* of a request; Prometheus' default */
	ANSWER_MAX = 64 << 10,
	LAG_S = 60, /* above it, /readyz is degraded */
	LOG_AGAIN_US = 600000000,
};

/* The request of a shard. */
struct sender {
	struct remote_write *remote;
	struct shard shard;
	struct batch *batch; /* NULL while the reader has it */
	uint64_t deleted_id; /* the store was told to delete up to it */
};

struct remote_write {
	struct store *store; /* NULL once stopped */
	const struct target_config *config;
	struct target target;
	struct tls_files files; /* the CA */
	struct tls_watch *ca;
	struct http_client *http;
	struct timer *tick;
	struct sender senders[OUTBOX_SHARDS];
	bool is_reading;  /* for one shard at a time */
	size_t last_read; /* the shard */
	struct remote_write_health health;
	struct log_limit refusals, drops, left_out;
	char logged[320]; /* the last failure in the log */
	char last_error[400];
};

static size_t number_of(const struct sender *sender)
{
	return (size_t)(sender - sender->remote->senders);
}

/* ---- the log ---- */

/* A failure is logged when it starts and when its reason changes. Shards that
 * fail for the same reason are logged once. */
static void fail(struct sender *sender, const char *why)
{
	struct remote_write *remote = sender->remote;
	char *own = sender->shard.why;

	if (strcmp(own, why) != 0 && strcmp(remote->logged, why) != 0) {
		log_warning("remote write is failing", log_str("why", why),
			LOG_END);
		(void)snprintf(remote->logged, sizeof(remote->logged), "%s",
			why);
	}
	(void)snprintf(own, sizeof(sender->shard.why), "%s", why);
}

static size_t failing_shards(const struct remote_write *remote)
{
	size_t count = 0;

	for (size_t i = 0; i < OUTBOX_SHARDS; i++) {
		count += remote->senders[i].shard.why[0] != '\0';
	}
	return count;
}

/* Recovery is logged when no shard fails any more. */
static void recover(struct sender *sender)
{
	struct remote_write *remote = sender->remote;

	sender->shard.why[0] = '\0';
	if (remote->logged[0] != '\0' && failing_shards(remote) == 0) {
		log_info("remote write recovered",
			log_str("to", remote->target.http.origin), LOG_END);
		remote->logged[0] = '\0';
	}
}

/* answer NULL: the report is too large for a request. */
static void log_refusal(struct remote_write *remote,
	const struct http_response *answer)
{
	uint64_t suppressed = 0;
	char text[200] = "the report is too large for a request";

	if (!log_allow(&remote->refusals, clock_monotonic_us(), LOG_AGAIN_US,
		    &suppressed)) {
		return;
	}
	if (answer != NULL) {
		(void)snprintf(text, sizeof(text), "%.*s",
			(int)strcspn(answer->body, "\r\n"), answer->body);
	}
	log_warning("dropped a report that the engine refused",
		log_str("to", remote->target.http.origin),
		log_int("status", answer != NULL ? answer->status : 0),
		log_str("answer", text),
		log_int("suppressed", (int64_t)suppressed), LOG_END);
}

static void log_drops(struct remote_write *remote,
	const struct outbox_counts *queue)
{
	if (queue->dropped > remote->health.queue.dropped &&
		log_allow(&remote->drops, clock_monotonic_us(), LOG_AGAIN_US,
			NULL)) {
		log_warning(
			"remote write queue is full, dropping the oldest "
			"reports",
			log_int("reports", (int64_t)queue->dropped),
			log_str("why", remote->logged), LOG_END);
	}
	remote->health.queue.dropped = queue->dropped;
}

/* Reports of a batch that no request has. */
static void note_left_out(struct remote_write *remote,
	const struct batch *batch)
{
	struct remote_write_health *health = &remote->health;
	uint64_t same_time = request_body_same_time(batch->body);

	health->unreadable += batch->unreadable;
	health->same_time += same_time;
	if (batch->unreadable + same_time > 0 &&
		log_allow(&remote->left_out, clock_monotonic_us(), LOG_AGAIN_US,
			NULL)) {
		log_warning("remote write left out reports",
			log_int("unreadable", (int64_t)health->unreadable),
			log_int("same_time", (int64_t)health->same_time),
			LOG_END);
	}
}

/* ---- reading ---- */

static void send_batch(struct sender *sender);
static void drop_or_split(struct sender *sender,
	const struct http_response *answer);
static void read_next(struct remote_write *remote);

/* If the store is busy, the next tick tries again. */
static void forget_sent(struct sender *sender)
{
	uint64_t sent_id = sender->shard.sent_id;

	if (sender->deleted_id < sent_id &&
		outbox_delete(sender->remote->store, sent_id, NULL) == 0) {
		sender->deleted_id = sent_id;
	}
}

/* The batch is sent or dropped. */
static void advance(struct sender *sender)
{
	struct batch *batch = take_ptr(sender->batch);

	note_left_out(sender->remote, batch);
	shard_advance(&sender->shard, batch->last_id, batch->is_full);
	batch_free(batch);
	forget_sent(sender);
	read_next(sender->remote);
}

static void take_batch(struct sender *sender)
{
	size_t len = 0;

	(void)request_body_bytes(sender->batch->body, &len);
	if (len > 0) {
		send_batch(sender);
	} else if (request_body_samples(sender->batch->body) > 0) {
		drop_or_split(sender, NULL);
	} else {
		advance(sender);
	}
}

static void on_batch(void *owner, struct batch *batch, const struct error *err)
{
	struct sender *sender = owner;
	struct remote_write *remote = sender->remote;

	remote->is_reading = false;
	sender->shard.state = SHARD_IDLE;
	if (remote->store == NULL) {
		batch_free(batch);
		return;
	}
	if (err != NULL || batch->count == 0) {
		if (err != NULL) {
			fail(sender, err->text);
		}
		sender->shard.is_due = false; /* until the next tick */
		batch_free(batch);
	} else {
		sender->batch = batch;
		take_batch(sender);
	}
	read_next(remote);
}

/* Reads for the next shard in turn. Only one read at a time is in the store's
 * queue, so that others wait for one request to be packed at most. */
static void read_next(struct remote_write *remote)
{
	struct batch_source source = { .extra = &remote->target.extra,
		.done = on_batch };
	struct sender *sender = NULL;

	for (size_t i = 1; sender == NULL && i <= OUTBOX_SHARDS; i++) {
		size_t shard = (remote->last_read + i) % OUTBOX_SHARDS;

		if (shard_may_read(&remote->senders[shard].shard)) {
			sender = &remote->senders[shard];
		}
	}
	if (remote->is_reading || sender == NULL) {
		return;
	}
	source.shard = number_of(sender);
	source.after = sender->shard.sent_id;
	source.limit = sender->shard.limit;
	source.owner = sender;
	/* The store is not open or is busy: the next tick tries again. */
	if (batch_read(remote->store, &source, NULL) == 0) {
		sender->shard.state = SHARD_READING;
		remote->is_reading = true;
		remote->last_read = source.shard;
	}
}

/* ---- sending ---- */

/* Splits a refused batch, or drops it if it is a single report. */
static void drop_or_split(struct sender *sender,
	const struct http_response *answer)
{
	uint64_t count = sender->batch->count;

	if (count > 1) {
		batch_free(take_ptr(sender->batch));
		shard_split(&sender->shard, count);
		read_next(sender->remote);
		return;
	}
	log_refusal(sender->remote, answer);
	sender->remote->health.refused++;
	sender->batch->is_full = true;
	advance(sender);
}

static void on_accepted(struct sender *sender)
{
	struct remote_write_health *health = &sender->remote->health;
	const struct batch *batch = sender->batch;

	health->sent_requests++;
	health->sent_reports += batch->count - batch->unreadable -
		request_body_same_time(batch->body);
	health->sent_samples += request_body_samples(batch->body);
	health->last_success_s = (double)clock_wall_us() / 1e6;
	shard_grow(&sender->shard);
	advance(sender);
}

static double random_share(void)
{
	uint32_t random = 0;

	(void)uv_random(NULL, NULL, &random, sizeof(random), 0, NULL);
	return (double)random / 4294967296.0;
}

static void send_later(struct sender *sender,
	const struct http_response *answer)
{
	char why[sizeof(sender->shard.why)];

	if (answer->status == 0) {
		(void)snprintf(why, sizeof(why), "%s", answer->error);
	} else {
		(void)snprintf(why, sizeof(why), "'%s' returned status %d",
			sender->remote->target.http.origin, answer->status);
	}
	fail(sender, why);
	shard_wait(&sender->shard, clock_monotonic_us(), answer->retry_after_ms,
		random_share());
	http_target_distrust(&sender->remote->target.http);
}

static void on_answer(void *owner, const struct http_response *answer)
{
	struct sender *sender = owner;
	enum shard_verdict verdict = shard_judge(answer->status);

	if (verdict == SHARD_AGAIN) {
		send_later(sender, answer);
		return;
	}
	sender->shard.failures = 0;
	recover(sender);
	if (verdict == SHARD_SENT) {
		on_accepted(sender);
	} else {
		drop_or_split(sender, answer);
	}
}

static void send_batch(struct sender *sender)
{
	struct remote_write *remote = sender->remote;
	const char *headers[HTTP_TARGET_HEADERS_MAX];
	const struct http_tls tls = {
		.ca = tls_watch_material(remote->ca)->ca
	};
	struct http_call call = {
		.method = "POST",
		.url = remote->config->http.url,
		.headers = headers,
		.tls = &tls,
		.allows_plain = true,
		.timeout_ms = TIMEOUT_MS,
		.max = ANSWER_MAX,
		.on_done = on_answer,
		.owner = sender,
	};

	http_target_refresh(&remote->target.http);
	target_headers(headers, &remote->target);
	call.body = request_body_bytes(sender->batch->body, &call.len);
	sender->shard.state = SHARD_SENDING;
	(void)http_send(remote->http, &call);
}

static void on_tick(void *owner)
{
	struct remote_write *remote = owner;
	struct outbox_counts queue = outbox_count(remote->store);
	uint64_t now_us = clock_monotonic_us();

	log_drops(remote, &queue);
	for (size_t i = 0; i < OUTBOX_SHARDS; i++) {
		struct sender *sender = &remote->senders[i];

		shard_note_queue(&sender->shard, queue.shards[i].last_id);
		forget_sent(sender);
		if (shard_is_retry_due(&sender->shard, now_us)) {
			remote->health.retries++;
			send_batch(sender);
		}
	}
	read_next(remote);
}

/* ---- all ---- */

int remote_write_new(struct remote_write **out, uv_loop_t *loop,
	struct store *store, const struct target_config *config,
	struct error *err)
{
	struct remote_write *remote = xcalloc(1, sizeof(*remote));
	scoped_free char *agent = xasprintf("plimsoll/%s", plimsoll_version);
	int r = target_init(&remote->target, config, err);

	remote->files.ca = config->http.ca;
	if (r == 0) {
		r = tls_watch_new(&remote->ca, loop, &remote->files,
			TLS_READER_OTHER, "remote-write", err);
	}
	if (r < 0) {
		target_fini(&remote->target);
		free(remote);
		return error_wrap(err, r, "--remote-write");
	}
	remote->store = store;
	remote->config = config;
	for (size_t i = 0; i < OUTBOX_SHARDS; i++) {
		remote->senders[i].remote = remote;
		shard_init(&remote->senders[i].shard);
	}
	remote->health.last_success_s = NAN;
	remote->http = http_client_new(loop, agent);
	remote->tick = timer_new(loop, on_tick, remote);
	timer_start(remote->tick, TICK_MS, TICK_MS);
	*out = remote;
	return 0;
}

void remote_write_stop(struct remote_write *remote)
{
	if (remote != NULL && remote->store != NULL) {
		remote->store = NULL;
		timer_close(take_ptr(remote->tick));
		http_client_close(take_ptr(remote->http));
		tls_watch_close(take_ptr(remote->ca));
	}
}

void remote_write_free(struct remote_write *remote)
{
	if (remote != NULL) {
		for (size_t i = 0; i < OUTBOX_SHARDS; i++) {
			batch_free(remote->senders[i].batch);
		}
		target_fini(&remote->target);
		free(remote);
	}
}

/* The shard with the oldest report that is not sent; NULL: there is none. */
static const struct sender *find_oldest(const struct remote_write *remote,
	const struct outbox_counts *queue)
{
	uint64_t oldest_ms = UINT64_MAX;
	const struct sender *oldest = NULL;

	for (size_t i = 0; i < OUTBOX_SHARDS; i++) {
		const struct outbox_shard_counts *counts = &queue->shards[i];
		const struct sender *sender = &remote->senders[i];

		if (counts->last_id > sender->shard.sent_id &&
			counts->oldest_ms < oldest_ms) {
			oldest_ms = counts->oldest_ms;
			oldest = sender;
		}
	}
	return oldest;
}

struct remote_write_health remote_write_health(
	const struct remote_write *remote)
{
	struct remote_write_health health = remote->health;
	double now_s = (double)clock_wall_us() / 1e6;
	const struct sender *oldest;

	health.failing_shards = failing_shards(remote);
	if (remote->store == NULL) {
		return health;
	}
	health.queue = outbox_count(remote->store);
	oldest = find_oldest(remote, &health.queue);
	if (oldest != NULL) {
		uint64_t ms = health.queue.shards[number_of(oldest)].oldest_ms;

		health.lag_s = fmax(0, now_s - (double)ms / 1e3);
	}
	return health;
}

const char *remote_write_last_error(struct remote_write *remote)
{
	const struct remote_write_health health = remote_write_health(remote);
	const struct sender *oldest = find_oldest(remote, &health.queue);

	remote->last_error[0] = '\0';
	if (oldest != NULL && health.lag_s > LAG_S) {
		(void)snprintf(remote->last_error, sizeof(remote->last_error),
			"remote write is %.0f s behind: %s", health.lag_s,
			oldest->shard.why[0] != '\0'
				? oldest->shard.why
				: "the engine accepts reports too slowly");
	}
	return remote->last_error;
}
