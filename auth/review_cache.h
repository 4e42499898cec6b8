/* Requests to the API server whose answers are shared and remembered: see
 * lib/query_cache.h. Tokens in requests, and the answers about them, are
 * overwritten when they are forgotten. */
#pragma once

#include "kube/client.h"

enum {
	REVIEW_CACHE_ENTRIES = 2048,
	REVIEW_CACHE_RUNNING = 32,
	REVIEW_CACHE_TIMEOUT_MS = 4000, /* peers wait for more than three */
	REVIEW_CACHE_ANSWER_MAX = 256 << 10,
	REVIEW_CACHE_KEPT_MAX = 16 << 10, /* larger answers are not kept */
};

struct review_cache;

/* How long an answer may be given again, in microseconds; 0: not at all. */
typedef uint64_t (*review_cache_keep)(const struct http_response *answer);

/* The answer is borrowed during the call. Status 0: there is no answer, and
 * error says why. */
typedef void (
	*review_cache_done)(void *owner, const struct http_response *answer);

struct review_cache_question {
	const char *method; /* a literal */
	const char *path;   /* copied, as the body */
	const char *body;   /* NULL: none */
	review_cache_keep keep;
	review_cache_done done; /* exactly once, maybe before ask() returns */
	void *owner;
};

/* Takes the client. Never NULL. */
struct review_cache *review_cache_new(struct kube_client *client);

void review_cache_ask(struct review_cache *review_cache,
	const struct review_cache_question *question, uint64_t now_us);

/* Closes the client. Open questions get an answer with status 0 now, and so
 * does every further one. */
void review_cache_stop(struct review_cache *review_cache);

/* After review_cache_stop(). NULL is fine. */
void review_cache_free(struct review_cache *review_cache);
