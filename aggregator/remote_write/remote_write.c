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
	TICK_MS = 1000,	    /* what comes in a second shares its labels */
	TIMEOUT_MS = 30000, /* of a request; as Prometheus has it */
	ANSWER_MAX = 64 << 10,
	TOKEN_US = 60000000, /* a token is read again after this */
	LAG_S = 60,	     /* beyond it somebody should know */
	DROPS_SAID_US = 600000000,
};

enum state {
	REMOTE_IDLE,
	REMOTE_READING,
	REMOTE_SENDING,
	REMOTE_WAITING, /* to send the same again */
};

/* One request. The reader's while it reads, then the loop's. */
struct batch {
	struct remote *remote;
	struct remote_body *body;
	uint64_t last_id, count; /* of its reports */
	uint64_t stored_ms;	 /* when the first of them was stored */
	bool is_full;		 /* there is more */
};

struct remote {
	struct store *store; /* NULL once stopped */
	const struct remote_config *config;
	struct remote_target target;
	struct http_client *http;
	struct timer *tick;
	enum state state;
	struct batch *batch; /* but while it is the reader's */
	uint64_t sent_id;    /* all up to it are at the engine */
	uint64_t waiting_ms; /* when the oldest that waits was stored, or 0 */
	uint64_t limit;	     /* reports in the next request */
	unsigned failures;   /* in a row */
	uint64_t due_us;     /* of the next try */
	uint64_t token_us;   /* when the token was read */
	struct remote_health health;
	struct log_limit refusals, drops;
	char why[320];	/* of the last failure, "" after a success */
	char said[320]; /* what stands in the log */
	char trouble[400];
};

static void batch_free(struct batch *batch)
{
	if (batch != NULL) {
		remote_body_free(batch->body);
		free(batch);
	}
}

/* ---- the log ---- */

/* A failure is told when it begins and when its reason becomes another. */
static void tell_failure(struct remote *remote)
{
	if (strcmp(remote->why, remote->said) != 0) {
		log_warning("remote write does not get through",
			log_str("why", remote->why), LOG_END);
		memcpy(remote->said, remote->why, sizeof(remote->said));
	}
}

static void tell_success(struct remote *remote)
{
	if (remote->said[0] != '\0') {
		log_info("remote write gets through again",
			log_str("to", remote->target.origin), LOG_END);
	}
	remote->why[0] = '\0';
	remote->said[0] = '\0';
}

static void tell_refusal(struct remote *remote,
	const struct http_answer *answer)
{
	uint64_t suppressed = 0;
	char text[200];

	if (log_allow(&remote->refusals, clock_monotonic_us(), DROPS_SAID_US,
		    &suppressed)) {
		(void)snprintf(text, sizeof(text), "%.*s",
			(int)strcspn(answer->body, "\r\n"), answer->body);
		log_warning("the engine refused a report, which is dropped",
			log_str("to", remote->target.origin),
			log_int("status", answer->status),
			log_str("answer", text),
			log_int("suppressed", (int64_t)suppressed), LOG_END);
	}
}

static void tell_drops(struct remote *remote)
{
	uint64_t dropped = store_outbox_count(remote->store).dropped;

	if (dropped > remote->health.queue.dropped &&
		log_allow(&remote->drops, clock_monotonic_us(), DROPS_SAID_US,
			NULL)) {
		log_warning(
			"the queue of remote write is full: its oldest reports "
			"are dropped",
			log_int("reports", (int64_t)dropped),
			log_str("why", remote->why), LOG_END);
	}
	remote->health.queue.dropped = dropped;
}

/* ---- reading ---- */

static bool on_row(void *owner, const struct store_outbox_row *row)
{
	struct batch *batch = owner;

	if (batch->count == 0) {
		batch->stored_ms = row->stored_ms;
	}
	batch->last_id = row->id;
	batch->count++;
	batch->is_full = row->report != NULL &&
		!remote_body_add(batch->body, row->node, row->sample_ms,
			row->report);
	return !batch->is_full;
}

static void on_end(void *owner, const struct store_names *names)
{
	struct batch *batch = owner;

	remote_body_pack(batch->body, names);
}

static void send_batch(struct remote *remote);
static void advance(struct remote *remote);
static void take_less(struct remote *remote);
static void read_batch(struct remote *remote);

static void on_read(void *owner, const struct error *err)
{
	struct batch *batch = owner;
	struct remote *remote = batch->remote;
	size_t len = 0;

	remote->state = REMOTE_IDLE;
	if (err != NULL || remote->store == NULL || batch->count == 0) {
		if (err != NULL && remote->store != NULL) {
			(void)snprintf(remote->why, sizeof(remote->why), "%s",
				err->text);
			tell_failure(remote);
		}
		batch_free(batch);
		return;
	}
	batch->is_full = batch->is_full || batch->count == remote->limit;
	remote->batch = batch;
	remote->waiting_ms = batch->stored_ms;
	(void)remote_body_bytes(batch->body, &len);
	if (len > 0) {
		send_batch(remote);
	} else if (remote_body_samples(batch->body) > 0) {
		take_less(remote);
	} else {
		advance(remote);
	}
}

static void read_batch(struct remote *remote)
{
	struct batch *batch = xcalloc(1, sizeof(*batch));
	struct store_outbox_read read = {
		.after = remote->sent_id,
		.most = (size_t)remote->limit,
		.row = on_row,
		.end = on_end,
		.done = on_read,
		.owner = batch,
	};

	batch->remote = remote;
	batch->body = remote_body_new(&remote->target.extra);
	remote->state = REMOTE_READING;
	/* Not open yet, or too many others read: the next tick tries again. */
	if (store_outbox_read(remote->store, &read, NULL) < 0) {
		remote->state = REMOTE_IDLE;
		batch_free(batch);
	}
}

/* ---- sending ---- */

/* The batch is done with, one way or the other. */
static void advance(struct remote *remote)
{
	struct batch *batch = take_ptr(remote->batch);
	bool is_full = batch->is_full;

	remote->sent_id = batch->last_id;
	remote->state = REMOTE_IDLE;
	remote->waiting_ms = is_full ? remote->waiting_ms : 0;
	batch_free(batch);
	/* If the store takes nothing at present, the next one says it too. */
	(void)(store_outbox_forget(remote->store, remote->sent_id, NULL) < 0);
	if (is_full) {
		read_batch(remote);
	}
}

/* The same again with fewer reports. */
static void take_less(struct remote *remote)
{
	struct batch *batch = take_ptr(remote->batch);

	if (batch->count > 1) {
		remote->limit = remote_less(batch->count);
		batch_free(batch);
		read_batch(remote);
		return;
	}
	remote->health.refused++;
	batch->is_full = true;
	remote->batch = batch;
	advance(remote);
}

static void on_taken(struct remote *remote)
{
	const struct batch *batch = remote->batch;

	remote->health.sent_requests++;
	remote->health.sent_reports += batch->count;
	remote->health.sent_samples += remote_body_samples(batch->body);
	remote->health.last_success_s = (double)clock_wall_us() / 1e6;
	remote->limit = remote_more(remote->limit, REMOTE_REPORTS_MAX);
	advance(remote);
}

static double random_share(void)
{
	uint32_t random = 0;

	(void)uv_random(NULL, NULL, &random, sizeof(random), 0, NULL);
	return (double)random / 4294967296.0;
}

static void send_later(struct remote *remote, const struct http_answer *answer)
{
	uint64_t ms;

	if (answer->status == 0) {
		(void)snprintf(remote->why, sizeof(remote->why), "%s",
			answer->error);
	} else {
		(void)snprintf(remote->why, sizeof(remote->why),
			"'%s' answered %d", remote->target.origin,
			answer->status);
	}
	remote->failures++;
	ms = remote_wait_ms(remote->failures, answer->retry_after_ms,
		random_share());
	remote->due_us = clock_monotonic_us() + ms * 1000;
	remote->state = REMOTE_WAITING;
	remote->token_us = 0; /* it may have been that */
	tell_failure(remote);
}

static void on_answer(void *owner, const struct http_answer *answer)
{
	struct remote *remote = owner;
	enum remote_verdict verdict = remote_judge(answer->status);

	if (verdict == REMOTE_AGAIN) {
		send_later(remote, answer);
		return;
	}
	remote->failures = 0;
	tell_success(remote);
	if (verdict == REMOTE_SENT) {
		on_taken(remote);
		return;
	}
	if (remote->batch->count == 1) {
		tell_refusal(remote, answer);
	}
	take_less(remote);
}

static void refresh_token(struct remote *remote)
{
	uint64_t now_us = clock_monotonic_us();

	if (remote->token_us == 0 || now_us - remote->token_us > TOKEN_US) {
		remote->token_us = now_us;
		remote_target_refresh(&remote->target);
	}
}

static void send_batch(struct remote *remote)
{
	const char *headers[REMOTE_HEADERS_MAX];
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
	remote_target_headers(headers, &remote->target);
	call.body = remote_body_bytes(remote->batch->body, &call.len);
	remote->state = REMOTE_SENDING;
	(void)http_send(remote->http, &call);
}

static void on_tick(void *owner)
{
	struct remote *remote = owner;

	tell_drops(remote);
	if (remote->state == REMOTE_IDLE &&
		store_outbox_count(remote->store).reports > 0) {
		read_batch(remote);
	} else if (remote->state == REMOTE_WAITING &&
		clock_monotonic_us() >= remote->due_us) {
		remote->health.retries++;
		send_batch(remote);
	}
}

/* ---- all ---- */

int remote_new(struct remote **out, uv_loop_t *loop, struct store *store,
	const struct remote_config *config, struct error *err)
{
	struct remote *remote = xcalloc(1, sizeof(*remote));
	scoped_free char *agent = xasprintf("plimsoll/%s", plimsoll_version);
	int r = remote_target_init(&remote->target, config, err);

	if (r < 0) {
		free(remote);
		return error_wrap(err, r, "--remote-write");
	}
	remote->store = store;
	remote->config = config;
	remote->limit = REMOTE_REPORTS_MAX;
	remote->token_us = clock_monotonic_us();
	remote->health.last_success_s = NAN;
	remote->http = http_client_new(loop, agent);
	remote->tick = timer_new(loop, on_tick, remote);
	timer_start(remote->tick, TICK_MS, TICK_MS);
	*out = remote;
	return 0;
}

void remote_stop(struct remote *remote)
{
	if (remote != NULL && remote->store != NULL) {
		remote->store = NULL;
		timer_close(take_ptr(remote->tick));
		http_client_close(take_ptr(remote->http));
	}
}

void remote_free(struct remote *remote)
{
	if (remote != NULL) {
		batch_free(remote->batch);
		remote_target_fini(&remote->target);
		free(remote);
	}
}

struct remote_health remote_health(const struct remote *remote)
{
	struct remote_health health = remote->health;
	double now_s = (double)clock_wall_us() / 1e6;

	if (remote->store != NULL) {
		health.queue = store_outbox_count(remote->store);
	}
	if (remote->waiting_ms != 0) {
		health.lag_s =
			fmax(0, now_s - (double)remote->waiting_ms / 1e3);
	}
	return health;
}

const char *remote_trouble(struct remote *remote)
{
	double lag_s = remote_health(remote).lag_s;

	remote->trouble[0] = '\0';
	if (lag_s > LAG_S) {
		(void)snprintf(remote->trouble, sizeof(remote->trouble),
			"remote write is %.0f s behind: %s", lag_s,
			remote->why[0] != '\0'
				? remote->why
				: "the engine takes less than comes in");
	}
	return remote->trouble;
}
