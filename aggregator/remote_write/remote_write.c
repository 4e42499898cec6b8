#include "aggregator/remote_write/remote_write.h"

#include "aggregator/remote_write/retry_rules.h"
#include "kube/http.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TICK_MS = 1000,	    /* the reports of a second share their labels */
	TIMEOUT_MS = 30000, /* of a request; Prometheus' default */
	ANSWER_MAX = 64 << 10,
	TOKEN_US = 60000000, /* a token is read again after this */
	LAG_S = 60,	     /* above it, /readyz is degraded */
	LOG_AGAIN_US = 600000000,
};

enum state {
	REMOTE_IDLE,
	REMOTE_READING,
	REMOTE_SENDING,
	REMOTE_WAITING, /* to send the same request again */
};

/* One request. Belongs to the reader thread while it reads. */
struct batch {
	struct remote_write *remote;
	struct request_body *body;
	uint64_t last_id, count; /* of its reports */
	uint64_t stored_ms;	 /* when the first of them was stored */
	bool is_full;		 /* the queue has more */
};

struct remote_write {
	struct store *store; /* NULL once stopped */
	const struct target_config *config;
	struct target target;
	struct http_client *http;
	struct timer *tick;
	enum state state;
	struct batch *batch; /* NULL while the reader has it */
	uint64_t sent_id;    /* all reports up to it are done */
	uint64_t oldest_ms; /* when the oldest queued report was stored, or 0 */
	uint64_t limit;	    /* reports in the next request */
	unsigned failures;  /* in a row */
	uint64_t due_us;    /* of the next attempt */
	uint64_t token_us;  /* when the token was read */
	struct remote_write_health health;
	struct log_limit refusals, drops;
	char why[320];	  /* of the last failure, "" after a success */
	char logged[320]; /* the last failure in the log */
	char last_error[400];
};

static void batch_free(struct batch *batch)
{
	if (batch != NULL) {
		request_body_free(batch->body);
		free(batch);
	}
}

/* ---- the log ---- */

/* A failure is logged when it starts and when its reason changes. */
static void log_failure(struct remote_write *remote)
{
	if (strcmp(remote->why, remote->logged) != 0) {
		log_warning("remote write is failing",
			log_str("why", remote->why), LOG_END);
		memcpy(remote->logged, remote->why, sizeof(remote->logged));
	}
}

static void log_recovery(struct remote_write *remote)
{
	if (remote->logged[0] != '\0') {
		log_info("remote write recovered",
			log_str("to", remote->target.origin), LOG_END);
	}
	remote->why[0] = '\0';
	remote->logged[0] = '\0';
}

static void log_refusal(struct remote_write *remote,
	const struct http_response *answer)
{
	uint64_t suppressed = 0;
	char text[200];

	if (log_allow(&remote->refusals, clock_monotonic_us(), LOG_AGAIN_US,
		    &suppressed)) {
		(void)snprintf(text, sizeof(text), "%.*s",
			(int)strcspn(answer->body, "\r\n"), answer->body);
		log_warning("dropped a report that the engine refused",
			log_str("to", remote->target.origin),
			log_int("status", answer->status),
			log_str("answer", text),
			log_int("suppressed", (int64_t)suppressed), LOG_END);
	}
}

static void log_drops(struct remote_write *remote)
{
	uint64_t dropped = outbox_count(remote->store).dropped;

	if (dropped > remote->health.queue.dropped &&
		log_allow(&remote->drops, clock_monotonic_us(), LOG_AGAIN_US,
			NULL)) {
		log_warning(
			"remote write queue is full, dropping the oldest "
			"reports",
			log_int("reports", (int64_t)dropped),
			log_str("why", remote->why), LOG_END);
	}
	remote->health.queue.dropped = dropped;
}

/* ---- reading ---- */

static bool on_row(void *owner, const struct outbox_row *row)
{
	struct batch *batch = owner;

	if (batch->count == 0) {
		batch->stored_ms = row->stored_ms;
	}
	batch->last_id = row->id;
	batch->count++;
	batch->is_full = row->report != NULL &&
		!request_body_add(batch->body, row->node, row->sample_ms,
			row->report);
	return !batch->is_full;
}

static void on_end(void *owner, const struct store_names *names)
{
	struct batch *batch = owner;

	request_body_pack(batch->body, names);
}

static void send_batch(struct remote_write *remote);
static void advance(struct remote_write *remote);
static void retry_with_less(struct remote_write *remote);

static void on_read(void *owner, const struct error *err)
{
	struct batch *batch = owner;
	struct remote_write *remote = batch->remote;
	size_t len = 0;

	remote->state = REMOTE_IDLE;
	if (err != NULL || remote->store == NULL || batch->count == 0) {
		if (err != NULL && remote->store != NULL) {
			(void)snprintf(remote->why, sizeof(remote->why), "%s",
				err->text);
			log_failure(remote);
		}
		batch_free(batch);
		return;
	}
	batch->is_full = batch->is_full || batch->count == remote->limit;
	remote->batch = batch;
	remote->oldest_ms = batch->stored_ms;
	(void)request_body_bytes(batch->body, &len);
	if (len > 0) {
		send_batch(remote);
	} else if (request_body_samples(batch->body) > 0) {
		retry_with_less(remote);
	} else {
		advance(remote);
	}
}

static void read_batch(struct remote_write *remote)
{
	struct batch *batch = xcalloc(1, sizeof(*batch));
	struct outbox_read read = {
		.after = remote->sent_id,
		.most = (size_t)remote->limit,
		.row = on_row,
		.end = on_end,
		.done = on_read,
		.owner = batch,
	};

	batch->remote = remote;
	batch->body = request_body_new(&remote->target.extra);
	remote->state = REMOTE_READING;
	/* The store is not open or is busy: the next tick tries again. */
	if (outbox_read(remote->store, &read, NULL) < 0) {
		remote->state = REMOTE_IDLE;
		batch_free(batch);
	}
}

/* ---- sending ---- */

/* The batch is sent or dropped. */
static void advance(struct remote_write *remote)
{
	struct batch *batch = take_ptr(remote->batch);
	bool is_full = batch->is_full;

	remote->sent_id = batch->last_id;
	remote->state = REMOTE_IDLE;
	remote->oldest_ms = is_full ? remote->oldest_ms : 0;
	batch_free(batch);
	/* If the store is busy, the next call removes these too. */
	(void)(outbox_delete(remote->store, remote->sent_id, NULL) < 0);
	if (is_full) {
		read_batch(remote);
	}
}

/* Splits a refused batch, or drops it if it is a single report. */
static void retry_with_less(struct remote_write *remote)
{
	struct batch *batch = take_ptr(remote->batch);

	if (batch->count > 1) {
		remote->limit = retry_shrink(batch->count);
		batch_free(batch);
		read_batch(remote);
		return;
	}
	remote->health.refused++;
	batch->is_full = true;
	remote->batch = batch;
	advance(remote);
}

static void on_accepted(struct remote_write *remote)
{
	const struct batch *batch = remote->batch;

	remote->health.sent_requests++;
	remote->health.sent_reports += batch->count;
	remote->health.sent_samples += request_body_samples(batch->body);
	remote->health.last_success_s = (double)clock_wall_us() / 1e6;
	remote->limit = retry_grow(remote->limit, REQUEST_REPORTS_MAX);
	advance(remote);
}

static double random_share(void)
{
	uint32_t random = 0;

	(void)uv_random(NULL, NULL, &random, sizeof(random), 0, NULL);
	return (double)random / 4294967296.0;
}

static void send_later(struct remote_write *remote,
	const struct http_response *answer)
{
	uint64_t ms;

	if (answer->status == 0) {
		(void)snprintf(remote->why, sizeof(remote->why), "%s",
			answer->error);
	} else {
		(void)snprintf(remote->why, sizeof(remote->why),
			"'%s' returned status %d", remote->target.origin,
			answer->status);
	}
	remote->failures++;
	ms = retry_wait_ms(remote->failures, answer->retry_after_ms,
		random_share());
	remote->due_us = clock_monotonic_us() + ms * 1000;
	remote->state = REMOTE_WAITING;
	remote->token_us = 0; /* the token may be the cause */
	log_failure(remote);
}

static void on_answer(void *owner, const struct http_response *answer)
{
	struct remote_write *remote = owner;
	enum retry_verdict verdict = retry_judge(answer->status);

	if (verdict == RETRY_AGAIN) {
		send_later(remote, answer);
		return;
	}
	remote->failures = 0;
	log_recovery(remote);
	if (verdict == RETRY_SENT) {
		on_accepted(remote);
		return;
	}
	if (remote->batch->count == 1) {
		log_refusal(remote, answer);
	}
	retry_with_less(remote);
}

static void refresh_token(struct remote_write *remote)
{
	uint64_t now_us = clock_monotonic_us();

	if (remote->token_us == 0 || now_us - remote->token_us > TOKEN_US) {
		remote->token_us = now_us;
		target_refresh(&remote->target);
	}
}

static void send_batch(struct remote_write *remote)
{
	const char *headers[TARGET_HEADERS_MAX];
	const struct http_tls tls = { .ca = remote->target.ca };
	struct http_call call = {
		.method = "POST",
		.url = remote->config->url,
		.headers = headers,
		.tls = &tls,
		.allows_plain = true,
		.timeout_ms = TIMEOUT_MS,
		.max = ANSWER_MAX,
		.on_done = on_answer,
		.owner = remote,
	};

	refresh_token(remote);
	target_headers(headers, &remote->target);
	call.body = request_body_bytes(remote->batch->body, &call.len);
	remote->state = REMOTE_SENDING;
	(void)http_send(remote->http, &call);
}

static void on_tick(void *owner)
{
	struct remote_write *remote = owner;

	log_drops(remote);
	if (remote->state == REMOTE_IDLE &&
		outbox_count(remote->store).reports > 0) {
		read_batch(remote);
	} else if (remote->state == REMOTE_WAITING &&
		clock_monotonic_us() >= remote->due_us) {
		remote->health.retries++;
		send_batch(remote);
	}
}

/* ---- all ---- */

int remote_write_new(struct remote_write **out, uv_loop_t *loop,
	struct store *store, const struct target_config *config,
	struct error *err)
{
	struct remote_write *remote = xcalloc(1, sizeof(*remote));
	scoped_free char *agent = xasprintf("plimsoll/%s", plimsoll_version);
	int r = target_init(&remote->target, config, err);

	if (r < 0) {
		free(remote);
		return error_wrap(err, r, "--remote-write");
	}
	remote->store = store;
	remote->config = config;
	remote->limit = REQUEST_REPORTS_MAX;
	remote->token_us = clock_monotonic_us();
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
	}
}

void remote_write_free(struct remote_write *remote)
{
	if (remote != NULL) {
		batch_free(remote->batch);
		target_fini(&remote->target);
		free(remote);
	}
}

struct remote_write_health remote_write_health(
	const struct remote_write *remote)
{
	struct remote_write_health health = remote->health;
	double now_s = (double)clock_wall_us() / 1e6;

	if (remote->store != NULL) {
		health.queue = outbox_count(remote->store);
	}
	if (remote->oldest_ms != 0) {
		health.lag_s = fmax(0, now_s - (double)remote->oldest_ms / 1e3);
	}
	return health;
}

const char *remote_write_last_error(struct remote_write *remote)
{
	double lag_s = remote_write_health(remote).lag_s;

	remote->last_error[0] = '\0';
	if (lag_s > LAG_S) {
		(void)snprintf(remote->last_error, sizeof(remote->last_error),
			"remote write is %.0f s behind: %s", lag_s,
			remote->why[0] != '\0'
				? remote->why
				: "the engine accepts reports too slowly");
	}
	return remote->last_error;
}
