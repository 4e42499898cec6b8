/* One HTTP request in curl's terms: options, callbacks, how it ended.
 *
 * Private to kube/http*.c, the only files that include curl. */
#pragma once

#include "kube/http.h"
#include "lib/buffer.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <sys/queue.h>

struct http_transfer {
	TAILQ_ENTRY(http_transfer) all;
	struct http_transfer *next_ready;
	struct http_client *client;
	/* Called from within curl: there is something to tell the owner. */
	void (*on_ready)(struct http_transfer *transfer);
	CURL *easy;
	struct curl_slist *headers;
	struct buffer received;
	char *origin; /* https://HOST:PORT, for sentences */
	http_chunk on_chunk;
	http_done on_done;
	void *owner;
	CURLcode result;
	int status;	/* 0: no answer yet */
	bool has_begun; /* of a stream: to be told */
	bool is_over;
	bool is_ready;
	char reason[CURL_ERROR_SIZE];
};

/* Sets everything but the list entries, client and on_ready, on an easy handle
 * that is as new. Never NULL. */
struct http_transfer *http_transfer_new(CURL *easy, const char *agent,
	const struct http_call *call);

/* Frees all but the easy handle, which must not be in use any more. */
void http_transfer_free(struct http_transfer *transfer);

/* Whether received holds bytes of a stream, rather than of an answer that is
 * collected. */
bool http_transfer_streams(const struct http_transfer *transfer);

/* What the owner is told at the end; all but *sentence, which the caller
 * frees, is borrowed from the transfer. */
struct http_answer http_transfer_answer(const struct http_transfer *transfer,
	char **sentence);
