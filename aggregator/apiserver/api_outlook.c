#include "aggregator/apiserver/api_outlook.h"

#include "aggregator/apiserver/vm_reach.h"
#include "aggregator/ingest/questions.h"
#include "lib/clock.h"
#include "lib/json.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/query_cache.h"

#include <stdlib.h>
#include <string.h>

enum { CHECK_MS = 500 };

/* An object's envelope around the scheduler's answer. */
enum { OBJECT_MAX = ANSWER_BODY_MAX + 4096, SENTENCE_MAX = 1024 };

enum { CLUSTER, VMS, CACHES };

/* An outlook on the cluster waits for none on a VM, and is not forgotten for
 * one. */
struct api_outlook {
	struct questions *questions;
	struct timer *timer; /* runs while the scheduler is asked */
	size_t asked;	     /* questions; others wait only behind these */
	struct query_cache *caches[CACHES];
	struct vm_reach *reach;
};

/* The name of a VM; empty: the cluster. Unused bytes are 0. */
struct subject {
	char namespace[REST_NAMESPACE_MAX];
	char name[REST_NAME_MAX];
};

/* The answer to everybody who asks. */
struct outlook_answer {
	int status;
	struct buffer body; /* the object, or with another status a sentence */
};

static void free_answer(void *value)
{
	struct outlook_answer *answer = value;

	if (answer != NULL) {
		buffer_fini(&answer->body);
		free(answer);
	}
}

static bool is_of_vm(const struct subject *subject)
{
	return subject->namespace[0] != '\0';
}

/* ---- the scheduler's answer ---- */

static struct outlook_answer *error_answer(int status, const char *sentence)
{
	struct outlook_answer *answer = xcalloc(1, sizeof(*answer));

	answer->status = status;
	answer->body = BUFFER_MAX(SENTENCE_MAX);
	buffer_printf(&answer->body, "%.1000s", sentence);
	return answer;
}

static struct outlook_answer *object_answer(const struct subject *subject,
	const char *status)
{
	struct outlook_answer *answer = xcalloc(1, sizeof(*answer));
	struct json j = json_into(&answer->body);

	answer->status = 200;
	answer->body = BUFFER_MAX(OBJECT_MAX);
	json_object(&j, NULL);
	json_string(&j, "kind", "Outlook");
	json_string(&j, "apiVersion", API_GROUP_VERSION);
	json_object(&j, "metadata");
	json_string(&j, "name",
		is_of_vm(subject) ? subject->name : API_STATUS_NAME);
	if (is_of_vm(subject)) {
		json_string(&j, "namespace", subject->namespace);
	}
	json_object_end(&j);
	json_raw(&j, "status", status);
	json_object_end(&j);
	buffer_char(&answer->body, '\n');
	return answer;
}

static void settle(struct query *query, struct outlook_answer *answer)
{
	uint64_t keep_us = is_of_vm(query_question(query)) ? OUTLOOK_VM_KEPT_US
							   : OUTLOOK_KEPT_US;

	query_settle(query, answer,
		answer->status == 200 ? keep_us : OUTLOOK_ERROR_KEPT_US,
		clock_monotonic_us());
}

/* A question_done. */
static void on_answer(void *owner, unsigned status, const char *body,
	size_t len)
{
	struct query *query = owner;
	const struct subject *subject = query_question(query);
	bool is_usable = memchr(body, '\0', len) == NULL &&
		(len <= OUTLOOK_VM_MAX || !is_of_vm(subject));

	if (status == 200 && is_usable) {
		settle(query, object_answer(subject, body));
	} else if (status >= 400 && status < 600) {
		settle(query, error_answer((int)status, body));
	} else {
		settle(query,
			error_answer(502,
				"the scheduler's answer is not usable"));
	}
}

/* ---- the question ---- */

static void start(void *owner, struct query *query)
{
	struct api_outlook *all = owner;
	const struct subject *subject = query_question(query);
	scoped_buffer struct buffer spec = BUFFER_MAX(QUESTION_BODY_MAX);
	struct json j = json_into(&spec);
	struct error error;
	int r;

	json_object(&j, NULL);
	if (is_of_vm(subject)) {
		json_string(&j, "vmName", subject->name);
	}
	json_object_end(&j);
	if (all->asked++ == 0) {
		timer_start(all->timer, CHECK_MS, CHECK_MS);
	}
	/* The askers share it; no user has such a name. */
	r = questions_ask(all->questions,
		&(const struct asked){ .kind = QUESTION_OUTLOOK,
			.namespace = subject->namespace,
			.body = spec.data,
			.len = spec.len,
			.peer = is_of_vm(subject) ? "\n" : "",
			.is_reserved = true },
		on_answer, query, &error);
	if (r < 0) {
		settle(query, error_answer(questions_status_of(r), error.text));
	}
}

static void ended(void *owner, struct query *query)
{
	struct api_outlook *all = owner;

	if (--all->asked == 0) {
		timer_stop(all->timer);
	}
	questions_cancel(all->questions, query);
}

static void expire(void *owner)
{
	struct api_outlook *all = owner;

	for (int i = 0; i < CACHES; i++) {
		query_cache_expire(all->caches[i], clock_monotonic_us());
	}
}

/* ---- requests ---- */

/* A query_done. */
static void reply(void *owner, const void *value, const char *why)
{
	struct httpd_request *request = owner;
	const struct outlook_answer *answer = value;

	if (answer == NULL) {
		httpd_reply_error(request, 503, "%s", why);
	} else if (answer->status == 200) {
		httpd_reply(request, 200, "application/json", answer->body.data,
			answer->body.len);
	} else {
		httpd_reply_error(request, answer->status, "%s",
			answer->body.data);
	}
}

void api_outlook_serve(struct api_outlook *all, const struct rest_path *path,
	struct httpd_request *request)
{
	struct subject subject = { 0 };

	if (path->kind == API_STATUS &&
		strcmp(path->name, API_STATUS_NAME) != 0) {
		httpd_reply_error(request, 404,
			"status." API_GROUP " \"%.300s\" not found",
			path->name);
		return;
	}
	if (path->kind != API_STATUS) {
		memcpy(subject.namespace, path->namespace,
			strlen(path->namespace));
		memcpy(subject.name, path->name, strlen(path->name));
	}
	query_cache_ask(all->caches[is_of_vm(&subject) ? VMS : CLUSTER],
		&subject, sizeof(subject), reply, request,
		clock_monotonic_us());
}

/* ---- all ---- */

static struct query_cache *new_cache(struct api_outlook *all, size_t most,
	size_t running)
{
	return query_cache_new(
		&(const struct query_cache_options){ .queries_max = most,
			.running_max = running,
			.timeout_us = OUTLOOK_WAIT_US,
			.start = start,
			.ended = ended,
			.free_answer = free_answer,
			.owner = all });
}

struct api_outlook *api_outlook_new(uv_loop_t *loop,
	struct questions *questions)
{
	struct api_outlook *all = xcalloc(1, sizeof(*all));

	all->questions = questions;
	all->timer = timer_new(loop, expire, all);
	all->caches[CLUSTER] = new_cache(all, 1, 1);
	all->caches[VMS] = new_cache(all, OUTLOOK_VMS_MAX, OUTLOOK_VMS_ASKED);
	all->reach = vm_reach_new(loop, questions);
	return all;
}

const struct vm_reach *api_outlook_reach(const struct api_outlook *all)
{
	return all->reach;
}

void api_outlook_stop(struct api_outlook *all)
{
	for (int i = 0; all != NULL && i < CACHES; i++) {
		query_cache_stop(all->caches[i]);
	}
}

void api_outlook_free(struct api_outlook *all)
{
	if (all == NULL) {
		return;
	}
	for (int i = 0; i < CACHES; i++) {
		query_cache_free(all->caches[i]);
	}
	vm_reach_free(all->reach);
	timer_close(all->timer);
	free(all);
}
