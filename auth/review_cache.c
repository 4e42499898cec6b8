#include "auth/review_cache.h"

#include "lib/clock.h"
#include "lib/memory.h"
#include "lib/query_cache.h"

#include <stdlib.h>
#include <string.h>

/* A question as the cache keeps it. */
struct request {
	const char *method;
	review_cache_keep keep;
	size_t path_len;
	bool has_body;
	char text[]; /* the path and the body, each with its NUL */
};

/* An answer as the cache keeps it. */
struct response {
	struct http_response answer;
	char *body, *error; /* owned */
};

struct caller {
	review_cache_done done;
	void *owner;
};

struct review_cache {
	struct kube_client *client; /* NULL once stopped */
	struct query_cache *queries;
};

static struct response *response_new(const struct http_response *answer)
{
	struct response *response = xcalloc(1, sizeof(*response));

	response->body = xcalloc(answer->len + 1, 1);
	memcpy(response->body, answer->body, answer->len);
	response->error = xstrdup(answer->error);
	response->answer = *answer;
	response->answer.body = response->body;
	response->answer.error = response->error;
	return response;
}

static void response_free(void *answer)
{
	struct response *response = answer;

	explicit_bzero(response->body, response->answer.len);
	free(response->body);
	free(response->error);
	free(response);
}

static void on_answer(void *owner, const struct http_response *answer)
{
	struct query *query = owner;
	const struct request *request = query_question(query);

	query_settle(query, response_new(answer),
		answer->len > REVIEW_CACHE_KEPT_MAX ? 0 : request->keep(answer),
		clock_monotonic_us());
}

static void start(void *owner, struct query *query)
{
	struct review_cache *review_cache = owner;
	const struct request *request = query_question(query);
	const char *body = request->has_body
		? request->text + request->path_len + 1
		: NULL;

	(void)kube_request_send(review_cache->client,
		&(struct kube_call){
			.method = request->method,
			.path = request->text,
			.body = body,
			.len = body == NULL ? 0 : strlen(body),
			.timeout_ms = REVIEW_CACHE_TIMEOUT_MS,
			.max = REVIEW_CACHE_ANSWER_MAX,
			.on_done = on_answer,
			.owner = query,
		});
}

static void on_settled(void *owner, const void *answer, const char *why)
{
	struct caller *caller = owner;
	const struct response *response = answer;
	const struct http_response none = { .body = "", .error = why };

	caller->done(caller->owner,
		response == NULL ? &none : &response->answer);
	free(caller);
}

void review_cache_ask(struct review_cache *review_cache,
	const struct review_cache_question *question, uint64_t now_us)
{
	const char *body = question->body == NULL ? "" : question->body;
	size_t path_len = strlen(question->path);
	size_t len = sizeof(struct request) + path_len + 1 + strlen(body) + 1;
	struct request *request = xcalloc(1, len);
	struct caller *caller = xcalloc(1, sizeof(*caller));

	request->method = question->method;
	request->keep = question->keep;
	request->path_len = path_len;
	request->has_body = question->body != NULL;
	memcpy(request->text, question->path, path_len);
	memcpy(request->text + path_len + 1, body, strlen(body));
	caller->done = question->done;
	caller->owner = question->owner;
	query_cache_ask(review_cache->queries, request, len, on_settled, caller,
		now_us);
	explicit_bzero(request, len);
	free(request);
}

struct review_cache *review_cache_new(struct kube_client *client)
{
	struct review_cache *review_cache = xcalloc(1, sizeof(*review_cache));

	review_cache->client = client;
	review_cache->queries =
		query_cache_new(&(const struct query_cache_options){
			.queries_max = REVIEW_CACHE_ENTRIES,
			.running_max = REVIEW_CACHE_RUNNING,
			.start = start,
			.free_answer = response_free,
			.owner = review_cache,
		});
	return review_cache;
}

void review_cache_stop(struct review_cache *review_cache)
{
	kube_client_close(take_ptr(review_cache->client));
	query_cache_stop(review_cache->queries);
}

void review_cache_free(struct review_cache *review_cache)
{
	if (review_cache != NULL) {
		query_cache_free(review_cache->queries);
		free(review_cache);
	}
}
