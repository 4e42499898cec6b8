/* Questions to an engine that the test plays: requests are recorded, and the
 * test answers them. */
#include "aggregator/remote_read/remote_read.h"

#include "kube/http.h"
#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/fake_timers.h"
#include "tests/support/log_lines.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the engine ---- */

enum { REQUESTS_MAX = 64 };

struct request {
	struct http_call call;
	char url[128], type[64];
	char *body;
};

static struct {
	struct request open[REQUESTS_MAX]; /* oldest first */
	size_t count, sent, cancelled;
	char agent[64];
	bool is_closed;
} engine;

struct http_client *__wrap_http_client_new(uv_loop_t *loop, const char *agent);
void __wrap_http_client_close(struct http_client *client);
struct http_transfer *__wrap_http_send(struct http_client *client,
	const struct http_call *call);
void __wrap_http_cancel(struct http_transfer *transfer);

struct http_client *__wrap_http_client_new(uv_loop_t *loop, const char *agent)
{
	assert_non_null(loop);
	(void)snprintf(engine.agent, sizeof(engine.agent), "%s", agent);
	return (struct http_client *)&engine;
}

void __wrap_http_client_close(struct http_client *client)
{
	assert_ptr_equal(client, &engine);
	engine.is_closed = true;
}

/* All transfers are one: the client only cancels them. */
static char transfer_of_all;

struct http_transfer *__wrap_http_send(struct http_client *client,
	const struct http_call *call)
{
	struct request *r = &engine.open[engine.count];

	assert_ptr_equal(client, &engine);
	assert_true(engine.count < REQUESTS_MAX);
	engine.count++;
	engine.sent++;
	*r = (struct request){ .call = *call };
	(void)snprintf(r->url, sizeof(r->url), "%s", call->url);
	(void)snprintf(r->type, sizeof(r->type), "%s", call->headers[0]);
	r->body = xasprintf("%.*s", (int)call->len, call->body);
	return (struct http_transfer *)&transfer_of_all;
}

static struct request take_oldest(void)
{
	struct request r = engine.open[0];

	assert_true(engine.count > 0);
	engine.count--;
	memmove(&engine.open[0], &engine.open[1],
		engine.count * sizeof(engine.open[0]));
	return r;
}

void __wrap_http_cancel(struct http_transfer *transfer)
{
	assert_ptr_equal(transfer, &transfer_of_all);
	engine.cancelled++;
}

static void answer(const struct http_response *response)
{
	struct request r = take_oldest();

	r.call.on_done(r.call.owner, response);
	free(r.body);
}

static void answer_text(int status, const char *text)
{
	answer(&(struct http_response){ .status = status,
		.body = text,
		.len = strlen(text),
		.error = "" });
}

#define MATRIX(series)                                                         \
	"{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\","         \
	"\"result\":[" series "]}}"

/* ---- those who ask ---- */

struct asker {
	struct remote_read *remote;
	struct history_query query;
	size_t done; /* how often it was answered */
	double *values;
	struct error error;
	bool has_hung_up;
	struct asker *asks_next; /* once it is answered, or NULL */
};

static void ask(struct asker *asker);

static void on_done(void *owner, double *values, const struct error *err)
{
	struct asker *asker = owner;

	asker->done++;
	asker->values = values;
	if (values == NULL) {
		asker->error = *err;
	} else {
		assert_null(err);
	}
	if (asker->asks_next != NULL) {
		ask(asker->asks_next);
	}
}

static bool has_hung_up(void *owner)
{
	return ((struct asker *)owner)->has_hung_up;
}

static void ask(struct asker *asker)
{
	remote_read_ask(asker->remote,
		&(struct remote_read_question){ .node = "n1",
			.query = &asker->query,
			.rows = 2,
			.interval_us = 2000000,
			.is_abandoned = has_hung_up,
			.done = on_done,
			.owner = asker });
}

/* ---- each test ---- */

enum { ASKERS = REMOTE_READ_RUNNING + REMOTE_READ_WAITING + 1 };

struct fixture {
	uv_loop_t loop;
	struct remote_read_config config;
	struct option_list written;
	struct remote_read *remote;
	struct asker askers[ASKERS];
};

static struct history_query parse(const char *from, const char *to,
	const char *step, const char *fields)
{
	struct history_query_params params = { from, to, step, fields };
	struct history_query query;

	assert_int_equal(
		history_query_parse(&query, &params,
			&(struct history_query_context){ .interval_us = 2000000,
				.retention_us = { UINT64_MAX, UINT64_MAX,
					UINT64_MAX } },
			NULL),
		0);
	return query;
}

static int set_up(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	memset(&engine, 0, sizeof(engine));
	log_lines_forget();
	assert_int_equal(uv_loop_init(&f->loop), 0);
	fake_clock_set(1000000000, UINT64_C(1753000000000000));
	f->config.http.url = "http://engine:9090/prefix//";
	f->written = (struct option_list){ { "cluster=east" }, 1 };
	assert_int_equal(remote_read_new(&f->remote, &f->loop, &f->config,
				 &f->written, NULL),
		0);
	for (size_t i = 0; i < ASKERS; i++) {
		f->askers[i].remote = f->remote;
		f->askers[i].query = parse("0", "120", "60", "cpu.cores");
	}
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	remote_read_stop(f->remote);
	remote_read_free(f->remote);
	for (size_t i = 0; i < ASKERS; i++) {
		free(f->askers[i].values);
	}
	while (engine.count > 0) {
		free(take_oldest().body);
	}
	assert_int_equal(uv_run(&f->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	free(f);
	return 0;
}

/* The clock goes on, and timers that are due fire. */
static void pass(struct fixture *f, uint64_t ms)
{
	fake_clock_move(ms * 1000);
	for (int i = 0; i < 10; i++) {
		(void)uv_run(&f->loop, UV_RUN_NOWAIT);
	}
}

/* Questions of the first askers. */
static void ask_all(struct fixture *f, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		ask(&f->askers[i]);
	}
}

/* ---- tests ---- */

static void a_question_is_one_request_to_the_engine(void **state)
{
	struct fixture *f = *state;
	const struct request *r = &engine.open[0];

	ask(&f->askers[0]);
	assert_int_equal(engine.count, 1);
	assert_string_equal(r->call.method, "POST");
	assert_string_equal(r->url,
		"http://engine:9090/prefix/api/v1/query_range");
	assert_string_equal(r->type,
		"Content-Type: application/x-www-form-urlencoded");
	assert_true(r->call.allows_plain);
	assert_int_equal(r->call.timeout_ms,
		2 * REMOTE_READ_DEADLINE_US / 1000);
	assert_int_equal(r->call.max, 2 * 64 + (64 << 10));
	assert_non_null(strstr(r->body, "cluster%3D%22east%22"));
	assert_int_equal(strncmp(engine.agent, "plimsoll/", 9), 0);
}

static void values_reach_the_one_who_asked(void **state)
{
	struct fixture *f = *state;
	struct asker *asker = &f->askers[0];

	ask(asker);
	fake_clock_move(250000);
	answer_text(200,
		MATRIX("{\"metric\":{\"plimsoll_field\":\"0\"},\"values\":"
		       "[[60,\"1.5\"]]}"));
	assert_int_equal(asker->done, 1);
	assert_non_null(asker->values);
	assert_float_equal(asker->values[0], 1.5, 0);
	assert_true(isnan(asker->values[1]));
	assert_int_equal(remote_read_health(f->remote).questions, 1);
	assert_float_equal(remote_read_health(f->remote).seconds, 0.25, 1e-9);
	assert_int_equal(remote_read_health(f->remote).failures, 0);
	assert_string_equal(log_lines, "");
}

/* The queries of 32 percentiles are longer than the text of one request. */
static void many_fields_are_asked_for_one_request_after_the_other(void **state)
{
	struct fixture *f = *state;
	struct asker *asker = &f->askers[0];
	char fields[1024] = "contention_p95";
	size_t sent;

	for (size_t i = 1; i < HISTORY_QUERY_FIELDS_MAX; i++) {
		(void)strcat(fields, ",contention_p95");
	}
	asker->query = parse("0", "604800", "3600", fields);
	ask(asker);
	for (sent = 0; engine.count > 0; sent++) {
		assert_int_equal(engine.count, 1);
		assert_int_equal(asker->done, 0);
		answer_text(200,
			sent == 0 ? MATRIX("{\"metric\":{\"plimsoll_field\":"
					   "\"0\"},\"values\":[[3600,"
					   "\"4\"]]}")
				  : MATRIX("{\"metric\":{\"plimsoll_field\":"
					   "\"31\"},\"values\":[[7200,"
					   "\"3\"]]}"));
	}
	assert_in_range(sent, 2, HISTORY_QUERY_FIELDS_MAX);
	assert_int_equal(asker->done, 1);
	assert_non_null(asker->values);
	assert_float_equal(asker->values[0], 4, 0);
	assert_float_equal(asker->values[HISTORY_QUERY_FIELDS_MAX + 31], 3, 0);
	assert_int_equal(remote_read_health(f->remote).questions, 1);
}

static void four_questions_run_and_sixteen_wait(void **state)
{
	struct fixture *f = *state;
	struct asker *last = &f->askers[ASKERS - 1];

	ask_all(f, ASKERS);
	assert_int_equal(engine.count, REMOTE_READ_RUNNING);
	assert_int_equal(last->done, 1);
	assert_int_equal(last->error.code, -EBUSY);
	assert_string_equal(last->error.text,
		"too many questions to 'http://engine:9090' are open already");
	assert_int_equal(remote_read_health(f->remote).busy, 1);
	for (size_t i = 0; i + 1 < ASKERS; i++) {
		assert_int_equal(f->askers[i].done, 0);
		answer_text(200, MATRIX(""));
		assert_int_equal(f->askers[i].done, 1);
		assert_non_null(f->askers[i].values);
	}
	assert_int_equal(engine.sent, ASKERS - 1);
	assert_int_equal(remote_read_health(f->remote).questions, ASKERS);
	assert_int_equal(remote_read_health(f->remote).busy, 1);
}

static void a_question_may_follow_from_an_answer(void **state)
{
	struct fixture *f = *state;

	ask_all(f, REMOTE_READ_RUNNING + 1);
	f->askers[0].asks_next = &f->askers[10];
	answer_text(200, MATRIX(""));
	assert_int_equal(engine.count, REMOTE_READ_RUNNING);
	while (engine.count > 0) {
		answer_text(200, MATRIX(""));
	}
	assert_int_equal(f->askers[10].done, 1);
	assert_non_null(f->askers[10].values);
}

static void a_question_ends_at_its_deadline(void **state)
{
	struct fixture *f = *state;

	ask_all(f, REMOTE_READ_RUNNING + 1);
	pass(f, REMOTE_READ_DEADLINE_US / 1000 - 1);
	assert_int_equal(f->askers[0].done + f->askers[4].done, 0);
	pass(f, 101);
	assert_int_equal(f->askers[0].error.code, -ETIMEDOUT);
	assert_string_equal(f->askers[0].error.text,
		"'http://engine:9090' did not answer within 2 s");
	assert_string_equal(f->askers[4].error.text,
		"earlier questions to 'http://engine:9090' take longer than "
		"2 s");
	assert_int_equal(engine.cancelled, REMOTE_READ_RUNNING);
	assert_int_equal(remote_read_health(f->remote).timeouts,
		REMOTE_READ_RUNNING + 1);
	assert_int_equal(remote_read_health(f->remote).failures, 0);
}

static void a_question_of_a_client_that_hung_up_ends(void **state)
{
	struct fixture *f = *state;

	ask_all(f, REMOTE_READ_RUNNING + 1);
	f->askers[1].has_hung_up = true;
	pass(f, 100);
	assert_int_equal(f->askers[1].done, 1);
	assert_int_equal(f->askers[1].error.code, -ECANCELED);
	assert_string_equal(f->askers[1].error.text, "the client has hung up");
	assert_int_equal(f->askers[0].done + f->askers[4].done, 0);
	assert_int_equal(engine.sent, REMOTE_READ_RUNNING + 1);
	assert_int_equal(remote_read_health(f->remote).failures, 0);
	assert_string_equal(log_lines, "");
}

static void what_an_engine_refuses_is_a_sentence(void **state)
{
	static const struct {
		int status;
		const char *body, *error;
		int code;
		const char *sentence;
	} cases[] = {
		{ 422, "{\"status\":\"error\",\"error\":\"too many points\"}",
			"", -EPROTO,
			"'http://engine:9090' returned status 422: too many "
			"points" },
		{ 502, "", "", -EPROTO,
			"'http://engine:9090' returned status 502" },
		{ 0, "", "cannot connect", -EIO, "cannot connect" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < count_of(cases); i++) {
		struct asker *asker = &f->askers[i];

		ask(asker);
		answer(&(struct http_response){ .status = cases[i].status,
			.body = cases[i].body,
			.len = strlen(cases[i].body),
			.error = cases[i].error });
		assert_int_equal(asker->done, 1);
		assert_int_equal(asker->error.code, cases[i].code);
		assert_string_equal(asker->error.text, cases[i].sentence);
		assert_int_equal(remote_read_health(f->remote).failures, i + 1);
	}
}

static void an_answer_above_its_limit_has_a_code_of_its_own(void **state)
{
	struct fixture *f = *state;

	ask(&f->askers[0]);
	answer(&(struct http_response){ .body = "",
		.is_too_large = true,
		.error = "the answer is too large" });
	assert_int_equal(f->askers[0].error.code, -E2BIG);
}

static void an_answer_that_cannot_be_read_is_a_failure(void **state)
{
	struct fixture *f = *state;

	ask(&f->askers[0]);
	answer_text(200, "<html>");
	assert_null(f->askers[0].values);
	assert_true(f->askers[0].error.code < 0);
	assert_int_equal(remote_read_health(f->remote).failures, 1);
}

/* One line in ten minutes, and one when it works again. */
static void failures_are_logged_once_until_it_recovers(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < 3; i++) {
		ask(&f->askers[i]);
		answer_text(503, "");
	}
	ask(&f->askers[3]);
	answer_text(200, MATRIX(""));
	ask(&f->askers[4]);
	answer_text(200, MATRIX(""));
	assert_string_equal(log_lines,
		"remote read is failing: 'http://engine:9090' returned status "
		"503\nremote read recovered: http://engine:9090\n");
}

static void a_stopped_reader_ends_all_questions_and_asks_none(void **state)
{
	struct fixture *f = *state;

	ask_all(f, REMOTE_READ_RUNNING + 1);
	remote_read_stop(f->remote);
	assert_true(engine.is_closed);
	assert_int_equal(engine.cancelled, REMOTE_READ_RUNNING);
	for (size_t i = 0; i < REMOTE_READ_RUNNING + 1; i++) {
		assert_int_equal(f->askers[i].done, 1);
		assert_int_equal(f->askers[i].error.code, -ECANCELED);
	}
	ask(&f->askers[6]);
	assert_int_equal(f->askers[6].error.code, -ECANCELED);
	assert_string_equal(f->askers[6].error.text, "shutting down");
	assert_int_equal(engine.sent, REMOTE_READ_RUNNING);
}

static void a_name_that_no_series_has_is_not_asked_for(void **state)
{
	struct fixture *f = *state;
	struct asker *asker = &f->askers[0];

	remote_read_ask(f->remote,
		&(struct remote_read_question){ .node = "a\xff",
			.query = &asker->query,
			.rows = 2,
			.done = on_done,
			.owner = asker });
	assert_int_equal(asker->error.code, -ENOENT);
	assert_int_equal(engine.sent, 0);
	assert_int_equal(remote_read_health(f->remote).questions, 1);
	assert_int_equal(remote_read_health(f->remote).busy, 0);
}

static void labels_to_read_come_before_those_that_are_written(void **state)
{
	struct fixture *f = *state;
	struct remote_read_config config = f->config;
	struct remote_read *remote;

	config.labels = (struct option_list){ { "cluster=west" }, 1 };
	assert_int_equal(
		remote_read_new(&remote, &f->loop, &config, &f->written, NULL),
		0);
	f->askers[0].remote = remote;
	ask(&f->askers[0]);
	assert_non_null(strstr(engine.open[0].body, "cluster%3D%22west%22"));
	assert_null(strstr(engine.open[0].body, "east"));
	remote_read_stop(remote);
	remote_read_free(remote);
	f->askers[0].remote = f->remote;
}

static void a_missing_file_is_named_with_its_flag(void **state)
{
	struct fixture *f = *state;
	struct remote_read_config config = f->config;
	struct remote_read *remote = NULL;
	struct error error;

	config.http.url = "https://engine:9090";
	config.http.ca = "/nonexistent/ca.crt";
	assert_true(remote_read_new(&remote, &f->loop, &config, &f->written,
			    &error) < 0);
	assert_null(remote);
	assert_int_equal(strncmp(error.text, "--remote-read", 13), 0);
	assert_non_null(strstr(error.text, "/nonexistent/ca.crt"));
	config = f->config;
	config.http.token_file = "/nonexistent/token";
	assert_true(remote_read_new(&remote, &f->loop, &config, &f->written,
			    &error) < 0);
	assert_non_null(strstr(error.text, "/nonexistent/token"));
}

static void flags_are_checked_without_their_files(void **state)
{
	static const struct {
		struct remote_read_config config;
		const char *why; /* NULL: fine */
	} cases[] = {
		{ { .http = { .url = "http://e:1/x" } }, NULL },
		{ { .http = { .url = NULL } }, NULL },
		{ { .http = { .url = "http://e:1/x?y" } },
			"--remote-read: the URL must not have a query" },
		{ { .http = { .url = "http://e:1/#y" } },
			"--remote-read: the URL must not have a query" },
		{ { .http = { .url = "http://e:1" },
			  .labels = { { "nolabel" }, 1 } },
			"--remote-read-label" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct error error = { 0 };
		int r = remote_read_check(&cases[i].config, &error);

		if (cases[i].why == NULL) {
			assert_int_equal(r, 0);
		} else {
			assert_int_equal(r, -EINVAL);
			assert_non_null(strstr(error.text, cases[i].why));
		}
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_question_is_one_request_to_the_engine),
		TEST(values_reach_the_one_who_asked),
		TEST(many_fields_are_asked_for_one_request_after_the_other),
		TEST(four_questions_run_and_sixteen_wait),
		TEST(a_question_may_follow_from_an_answer),
		TEST(a_question_ends_at_its_deadline),
		TEST(a_question_of_a_client_that_hung_up_ends),
		TEST(what_an_engine_refuses_is_a_sentence),
		TEST(an_answer_above_its_limit_has_a_code_of_its_own),
		TEST(an_answer_that_cannot_be_read_is_a_failure),
		TEST(failures_are_logged_once_until_it_recovers),
		TEST(a_stopped_reader_ends_all_questions_and_asks_none),
		TEST(a_name_that_no_series_has_is_not_asked_for),
		TEST(labels_to_read_come_before_those_that_are_written),
		TEST(a_missing_file_is_named_with_its_flag),
		cmocka_unit_test(flags_are_checked_without_their_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
