/* One HTTP request in curl's terms: options, callbacks and result. Private to
 * kube/http*.c. */
#pragma once

#include "kube/http.h"
#include "lib/buffer.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <sys/queue.h>

struct http_transfer {
	TAILQ_ENTRY(http_transfer) all;
	TAILQ_ENTRY(http_transfer) ready;
	struct http_client *client;
	/* Called inside curl: a callback of the owner is due. */
	void (*on_ready)(struct http_transfer *transfer);
	CURL *easy;
	struct curl_slist *headers;
	struct buffer received;
	char *origin; /* https://HOST:PORT, for errors */
	http_chunk on_chunk;
	http_done on_done;
	void *owner;
	CURLcode result;
	int status;	/* 0: no response yet */
	bool has_begun; /* the first on_chunk of a stream is due */
	bool is_over;
	bool is_ready;
	char reason[CURL_ERROR_SIZE];
};

/* Sets all members except the list entries, client and on_ready. easy is a new
 * or reset handle. Never NULL. */
struct http_transfer *http_transfer_new(CURL *easy, const char *agent,
	const struct http_call *call);

/* Frees everything but the easy handle, which must not be in use. */
void http_transfer_free(struct http_transfer *transfer);

/* Whether received holds bytes of a stream. False: it collects a response. */
bool http_transfer_streams(const struct http_transfer *transfer);

/* The response for the owner. The caller frees *sentence; everything else is
 * borrowed from the transfer. */
struct http_response http_transfer_response(
	const struct http_transfer *transfer, char **sentence);
