#include "aggregator/remote_read/remote_read.h"

#include "aggregator/remote_read/query_text.h"
#include "aggregator/remote_read/range_answer.h"
#include "aggregator/series/label_flags.h"
#include "kube/http.h"
#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/tls/tls_watch.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

static const char flag[] = "remote-read";

enum {
	TICK_MS = 100,
	/* A point is [1700000000.123,"12345678901.234567"], with a comma. */
	POINT_BYTES = 64,
	ANSWER_SLACK = 64 << 10, /* labels, warnings, statistics */
	NAME_MAX_BYTES = 256,
};

#define LOG_AGAIN_US UINT64_C(600000000)

struct call {
	TAILQ_ENTRY(call) link; /* in waiting or running */
	struct remote_read *remote;
	struct history_query query;
	char node[NAME_MAX_BYTES], namespace[NAME_MAX_BYTES];
	char name[NAME_MAX_BYTES];
	bool is_node;
	size_t rows;
	uint64_t interval_us, asked_us;
	bool (*is_abandoned)(void *owner);
	remote_read_done done;
	void *owner;
	double *values;
	size_t first, count; /* fields of the request in progress */
	struct http_transfer *transfer;
	struct buffer body;
	bool is_running;
};

TAILQ_HEAD(calls, call);

struct remote_read {
	const struct option_list *labels;
	struct http_target target;
	struct tls_files files; /* the CA */
	struct tls_watch *ca;
	struct http_client *http; /* NULL once stopped */
	struct timer *tick;
	char *url;
	struct calls waiting, running;
	size_t waiting_count, running_count;
	struct remote_read_health health;
	struct log_limit failures;
	bool is_failing; /* it was logged */
};

/* ---- the end of a question ---- */

static void run_waiting(struct remote_read *remote);

static void unlink_call(struct call *call)
{
	struct remote_read *remote = call->remote;

	if (call->is_running) {
		TAILQ_REMOVE(&remote->running, call, link);
		remote->running_count--;
	} else {
		TAILQ_REMOVE(&remote->waiting, call, link);
		remote->waiting_count--;
	}
	if (remote->running_count + remote->waiting_count == 0) {
		timer_stop(remote->tick);
	}
}

static void note_failure(struct remote_read *remote, const struct error *err)
{
	uint64_t suppressed = 0;

	if (err->code == -ETIMEDOUT) {
		remote->health.timeouts++;
	} else {
		remote->health.failures++;
	}
	http_target_distrust(&remote->target);
	if (log_allow(&remote->failures, clock_monotonic_us(), LOG_AGAIN_US,
		    &suppressed)) {
		log_warning("remote read is failing", log_err(err),
			log_int("suppressed", (int64_t)suppressed), LOG_END);
		remote->is_failing = true;
	}
}

static void note_success(struct remote_read *remote)
{
	if (remote->is_failing) {
		log_info("remote read recovered",
			log_str("from", remote->target.origin), LOG_END);
		remote->is_failing = false;
	}
}

/* Ends the call; err NULL: with its values. */
static void end_call(struct call *call, const struct error *err)
{
	struct remote_read *remote = call->remote;
	double *values = take_ptr(call->values);

	if (call->transfer != NULL) {
		http_cancel(take_ptr(call->transfer));
	}
	unlink_call(call);
	remote->health.questions++;
	remote->health.seconds +=
		(double)(clock_monotonic_us() - call->asked_us) / 1e6;
	if (err == NULL) {
		note_success(remote);
	} else {
		free(take_ptr(values));
		if (err->code != -ECANCELED) {
			note_failure(remote, err);
		}
	}
	call->done(call->owner, values, err);
	buffer_fini(&call->body);
	free(call);
}

/* ---- requests ---- */

static void write_body(struct call *call)
{
	const struct query_text text = { call->is_node ? call->node : NULL,
		call->namespace, call->name, &call->query, call->interval_us,
		call->remote->labels };

	buffer_clear(&call->body);
	call->count = query_text_form(&call->body,
		&(struct query_form){ &text, call->rows, call->first,
			REMOTE_READ_POINTS_MAX / call->rows,
			REMOTE_READ_DEADLINE_US });
}

static int judge(const struct call *call, const struct http_response *response,
	struct error *err)
{
	const char *origin = call->remote->target.origin;
	char why[200];

	if (response->status == 0) {
		return error_set(err, response->is_too_large ? -E2BIG : -EIO,
			"%s", response->error);
	}
	if (response->status == 200) {
		return 0;
	}
	answer_error(why, sizeof(why), response->body, response->len);
	return error_set(err, -EPROTO, "'%s' returned status %d%s%s", origin,
		response->status, why[0] == '\0' ? "" : ": ", why);
}

static void send_request(struct call *call);

static void on_answer(void *owner, const struct http_response *response)
{
	struct call *call = owner;
	struct remote_read *remote = call->remote;
	const struct range_answer_grid grid = {
		.from_us = call->query.from_us + call->query.step_us,
		.step_us = call->query.step_us,
		.rows = call->rows,
		.fields = call->query.field_count,
		.label = query_text_label,
		.values = call->values,
	};
	struct error error;
	size_t found;
	int r = judge(call, response, &error);

	call->transfer = NULL;
	if (r == 0) {
		r = range_answer_read(&found, &grid, response->body,
			response->len, &error);
	}
	if (r < 0) {
		end_call(call, &error);
	} else {
		call->first += call->count;
		if (call->first < call->query.field_count) {
			send_request(call);
			return;
		}
		end_call(call, NULL);
	}
	run_waiting(remote);
}

static void send_request(struct call *call)
{
	static const char *const fixed[] = {
		"Content-Type: application/x-www-form-urlencoded", NULL
	};
	struct remote_read *remote = call->remote;
	const char *headers[HTTP_TARGET_HEADERS_MAX];
	const struct http_tls tls = {
		.ca = tls_watch_material(remote->ca)->ca
	};
	struct http_call request = {
		.method = "POST",
		.url = remote->url,
		.headers = headers,
		.tls = &tls,
		.allows_plain = true,
		.timeout_ms = 2 * REMOTE_READ_DEADLINE_US / 1000,
		.on_done = on_answer,
		.owner = call,
	};

	http_target_refresh(&remote->target);
	http_target_headers(headers, &remote->target, fixed);
	write_body(call);
	request.body = call->body.data;
	request.len = call->body.len;
	request.max = call->rows * call->count * POINT_BYTES + ANSWER_SLACK;
	call->transfer = http_send(remote->http, &request);
}

static void run_waiting(struct remote_read *remote)
{
	struct call *call;

	while (remote->http != NULL &&
		remote->running_count < REMOTE_READ_RUNNING &&
		(call = TAILQ_FIRST(&remote->waiting)) != NULL) {
		TAILQ_REMOVE(&remote->waiting, call, link);
		remote->waiting_count--;
		TAILQ_INSERT_TAIL(&remote->running, call, link);
		remote->running_count++;
		call->is_running = true;
		send_request(call);
	}
}

/* ---- time ---- */

static void end_if_over(struct call *call, uint64_t now_us)
{
	struct error error;

	if (call->is_abandoned != NULL && call->is_abandoned(call->owner)) {
		(void)error_set(&error, -ECANCELED, "the client has hung up");
	} else if (now_us - call->asked_us >= REMOTE_READ_DEADLINE_US) {
		(void)error_set(&error, -ETIMEDOUT,
			call->is_running ? "'%s' did not answer within %d s"
					 : "earlier questions to '%s' take "
					   "longer than %d s",
			call->remote->target.origin,
			(int)(REMOTE_READ_DEADLINE_US / 1000000));
	} else {
		return;
	}
	end_call(call, &error);
}

static void end_those_over(struct calls *calls)
{
	uint64_t now_us = clock_monotonic_us();
	struct call *call = TAILQ_FIRST(calls);

	/* done() may ask, so that the next call begins to run; it ends none. */
	while (call != NULL) {
		struct call *next = TAILQ_NEXT(call, link);

		end_if_over(call, now_us);
		call = next;
	}
}

static void on_tick(void *owner)
{
	struct remote_read *remote = owner;

	end_those_over(&remote->waiting);
	end_those_over(&remote->running);
	run_waiting(remote);
}

/* ---- all ---- */

static void copy(char out[NAME_MAX_BYTES], const char *text)
{
	(void)snprintf(out, NAME_MAX_BYTES, "%s", text == NULL ? "" : text);
}

static double *unknown_values(size_t count)
{
	double *values = xcalloc(count, sizeof(*values));

	for (size_t i = 0; i < count; i++) {
		values[i] = NAN;
	}
	return values;
}

static struct call *call_new(struct remote_read *remote,
	const struct remote_read_question *question)
{
	struct call *call = xcalloc(1, sizeof(*call));

	call->remote = remote;
	call->query = *question->query;
	call->is_node = question->node != NULL;
	copy(call->node, question->node);
	copy(call->namespace, question->namespace);
	copy(call->name, question->name);
	call->rows = question->rows;
	call->interval_us = question->interval_us;
	call->asked_us = clock_monotonic_us();
	call->is_abandoned = question->is_abandoned;
	call->done = question->done;
	call->owner = question->owner;
	call->values = unknown_values(call->rows * call->query.field_count);
	call->body = BUFFER_MAX(QUERY_FORM_MAX);
	return call;
}

/* Why the question is not asked. */
static int refuse(const struct remote_read *remote,
	const struct remote_read_question *question, struct error *err)
{
	const struct query_text text = { question->node, question->namespace,
		question->name, question->query, question->interval_us,
		remote->labels };

	if (remote->http == NULL) {
		return error_set(err, -ECANCELED, "shutting down");
	}
	if (!query_text_can_match(&text)) {
		return error_set(err, -ENOENT,
			"no series can have such a name");
	}
	if (remote->waiting_count >= REMOTE_READ_WAITING) {
		return error_set(err, -EBUSY,
			"too many questions to '%s' are open already",
			remote->target.origin);
	}
	return 0;
}

void remote_read_ask(struct remote_read *remote,
	const struct remote_read_question *question)
{
	struct call *call;
	struct error error;

	if (refuse(remote, question, &error) < 0) {
		remote->health.questions++;
		remote->health.busy += error.code == -EBUSY;
		question->done(question->owner, NULL, &error);
		return;
	}
	call = call_new(remote, question);
	if (remote->running_count + remote->waiting_count == 0) {
		timer_start(remote->tick, TICK_MS, TICK_MS);
	}
	TAILQ_INSERT_TAIL(&remote->waiting, call, link);
	remote->waiting_count++;
	run_waiting(remote);
}

int remote_read_check(const struct remote_read_config *config,
	struct error *err)
{
	int r = http_target_check(&config->http, config->labels.count > 0, flag,
		err);

	if (r == 0 && config->http.url != NULL &&
		strpbrk(config->http.url, "?#") != NULL) {
		r = error_set(err, -EINVAL,
			"--remote-read: the URL must not have a query");
	}
	return r < 0
		? r
		: label_flags_check(&config->labels, "remote-read-label", err);
}

int remote_read_new(struct remote_read **out, uv_loop_t *loop,
	const struct remote_read_config *config,
	const struct option_list *written, struct error *err)
{
	struct remote_read *remote = xcalloc(1, sizeof(*remote));
	scoped_free char *agent = xasprintf("plimsoll/%s", plimsoll_version);
	size_t len = strlen(config->http.url);
	int r = http_target_init(&remote->target, &config->http, flag, err);

	remote->files.ca = config->http.ca;
	if (r == 0) {
		r = tls_watch_new(&remote->ca, loop, &remote->files,
			TLS_READER_OTHER, flag, err);
	}
	if (r < 0) {
		http_target_fini(&remote->target);
		free(remote);
		return error_wrap(err, r, "--remote-read");
	}
	while (config->http.url[len - 1] == '/') {
		len--;
	}
	remote->url = xasprintf("%.*s/api/v1/query_range", (int)len,
		config->http.url);
	remote->labels = config->labels.count > 0 ? &config->labels : written;
	TAILQ_INIT(&remote->waiting);
	TAILQ_INIT(&remote->running);
	remote->http = http_client_new(loop, agent);
	remote->tick = timer_new(loop, on_tick, remote);
	*out = remote;
	return 0;
}

static void end_all(struct calls *calls, const struct error *err)
{
	struct call *call = TAILQ_FIRST(calls);

	while (call != NULL) {
		struct call *next = TAILQ_NEXT(call, link);

		end_call(call, err);
		call = next;
	}
}

void remote_read_stop(struct remote_read *remote)
{
	struct http_client *http;
	struct error error;

	if (remote == NULL || remote->http == NULL) {
		return;
	}
	(void)error_set(&error, -ECANCELED, "shutting down");
	http = take_ptr(remote->http);
	end_all(&remote->waiting, &error);
	end_all(&remote->running, &error);
	http_client_close(http);
	timer_close(take_ptr(remote->tick));
	tls_watch_close(take_ptr(remote->ca));
}

void remote_read_free(struct remote_read *remote)
{
	if (remote != NULL) {
		http_target_fini(&remote->target);
		free(remote->url);
		free(remote);
	}
}

struct remote_read_health remote_read_health(const struct remote_read *remote)
{
	return remote->health;
}
