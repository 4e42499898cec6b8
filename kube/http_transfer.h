/* One HTTP request in curl's terms: options, callbacks and result. Private to
 * kube/http*.c. */
#pragma once

#include "kube/http.h"
#include "kube/http_handle.h"
#include "lib/buffer.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <sys/queue.h>

/* HTTP_UNQUEUED: it does not have to wait, or left the queue. */
enum http_queue_state { HTTP_UNQUEUED, HTTP_WAITS, HTTP_IN_FLIGHT };

struct http_transfer {
	TAILQ_ENTRY(http_transfer) all;
	TAILQ_ENTRY(http_transfer) ready;
	TAILQ_ENTRY(http_transfer) waiting;
	struct http_client *client;
	/* Called inside curl: a callback of the owner is due. */
	void (*on_ready)(struct http_transfer *transfer);
	struct http_setup *setup;
	struct http_handle handle; /* zeroed while the transfer waits */
	struct http_call call;	   /* without url, headers and tls */
	char *url;
	uint64_t deadline_ms; /* of the loop's clock */
	uint64_t since_ms;    /* of its wait */
	enum http_queue_state queue_state;
	struct curl_slist *headers;
	struct buffer received;
	CURLcode result;
	int status;	/* 0: no response yet */
	bool has_begun; /* the first on_chunk of a stream is due */
	bool is_over;
	bool is_ready;
	char reason[CURL_ERROR_SIZE];
};

/* Sets all members but the list entries, client, on_ready and deadline. Never
 * NULL. */
struct http_transfer *http_transfer_new(struct http_setup *setup,
	const struct http_call *call);

/* Takes the handle, which has the setup's options, and gives it the request's
 * own. timeout_ms is at least 1. */
void http_transfer_prepare(struct http_transfer *transfer,
	struct http_handle handle, uint64_t timeout_ms);

/* Frees everything but the handle, which must not be in use. */
void http_transfer_free(struct http_transfer *transfer);

/* Whether received holds bytes of a stream. False: it collects a response. */
bool http_transfer_streams(const struct http_transfer *transfer);

/* The response for the owner. The caller frees *sentence; everything else is
 * borrowed from the transfer. */
struct http_response http_transfer_response(
	const struct http_transfer *transfer, char **sentence);
