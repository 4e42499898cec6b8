#include "kube/http_transfer.h"

#include "lib/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ERROR_BODY_MAX = 64 << 10 }; /* of an error response to a stream */

/* ---- called by curl ---- */

bool http_transfer_streams(const struct http_transfer *t)
{
	return t->call.on_chunk != NULL && t->status / 100 == 2;
}

static size_t on_header(const char *line, size_t size, size_t count,
	void *owner)
{
	struct http_transfer *t = owner;
	size_t len = size * count;
	long status = 0;

	/* The empty line ends the headers; those of a 100 are ignored. */
	if (t->status != 0 || len == 0 ||
		(line[0] != '\r' && line[0] != '\n')) {
		return len;
	}
	(void)curl_easy_getinfo(t->handle.easy, CURLINFO_RESPONSE_CODE,
		&status);
	t->status = status >= 200 ? (int)status : 0;
	if (http_transfer_streams(t)) {
		t->has_begun = true;
		t->on_ready(t);
	} else if (t->status != 0 && t->call.on_chunk != NULL) {
		t->received.max = ERROR_BODY_MAX;
	}
	return len;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *owner)
{
	struct http_transfer *t = owner;

	buffer_append(&t->received, bytes, size * count);
	if (t->received.overflowed) {
		return 0;
	}
	if (http_transfer_streams(t)) {
		t->on_ready(t);
	}
	return size * count;
}

/* ---- the request ---- */

static void add_header(struct http_transfer *t, const char *header)
{
	struct curl_slist *longer = curl_slist_append(t->headers, header);

	assert(longer != NULL);
	t->headers = longer;
}

struct http_transfer *http_transfer_new(struct http_setup *setup,
	const struct http_call *call)
{
	struct http_transfer *t = xcalloc(1, sizeof(*t));
	const char *const *header = call->headers;

	t->setup = http_setup_ref(setup);
	t->call = *call;
	t->call.url = NULL;
	t->call.headers = NULL;
	t->call.tls = NULL;
	t->url = xstrdup(call->url);
	/* A body may hold keys or a token. */
	t->received = BUFFER_SECRET(call->max);
	/* Waiting for "100 Continue" costs a second with servers that do not
	 * know it. */
	add_header(t, "Expect:");
	for (; header != NULL && *header != NULL; header++) {
		add_header(t, *header);
	}
	return t;
}

void http_transfer_prepare(struct http_transfer *t, struct http_handle handle,
	uint64_t timeout_ms)
{
	CURL *easy = handle.easy;

	t->handle = handle;
	(void)curl_easy_setopt(easy, CURLOPT_URL, t->url);
	(void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, t->headers);
	if (t->call.body != NULL) {
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, t->call.body);
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
			(curl_off_t)t->call.len);
	}
	(void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, t->call.method);
	(void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
	(void)curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT,
		(long)t->call.needs_new_connection);
	(void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, t);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
	(void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->reason);
	(void)curl_easy_setopt(easy, CURLOPT_PRIVATE, t);
}

void http_transfer_free(struct http_transfer *t)
{
	/* A header may hold a token. */
	for (struct curl_slist *h = t->headers; h != NULL; h = h->next) {
		explicit_bzero(h->data, strlen(h->data));
	}
	curl_slist_free_all(t->headers);
	buffer_fini(&t->received);
	http_setup_release(t->setup);
	free(t->url);
	free(t);
}

/* ---- the result ---- */

/* The part of the URL before its path. The caller frees it. */
static char *origin_of(const char *url)
{
	const char *host = strstr(url, "://");

	host = host != NULL ? host + 3 : url;
	return xstrndup(url, (size_t)(host - url) + strcspn(host, "/"));
}

static const char *failure_text(const struct http_transfer *t)
{
	return t->reason[0] != '\0' ? t->reason : curl_easy_strerror(t->result);
}

static char *failure_sentence(const struct http_transfer *t)
{
	scoped_free char *origin = origin_of(t->url);

	if (t->received.overflowed) {
		return xasprintf(
			"the response of '%s' is larger than %zu bytes", origin,
			t->received.max);
	}
	switch (t->result) {
	case CURLE_PEER_FAILED_VERIFICATION:
		return xasprintf("the certificate of '%s' is not trusted: %s",
			origin, failure_text(t));
	case CURLE_SSL_CERTPROBLEM:
		return xasprintf(
			"cannot use the client certificate or key for '%s': %s",
			origin, failure_text(t));
	case CURLE_OPERATION_TIMEDOUT:
		return xasprintf("no response from '%s' in time: %s", origin,
			failure_text(t));
	default:
		return xasprintf("cannot reach '%s': %s", origin,
			failure_text(t));
	}
}

static uint64_t retry_after_ms(const struct http_transfer *t)
{
	curl_off_t seconds = 0;

	(void)curl_easy_getinfo(t->handle.easy, CURLINFO_RETRY_AFTER, &seconds);
	return seconds > 0 ? (uint64_t)seconds * 1000 : 0;
}

struct http_response http_transfer_response(const struct http_transfer *t,
	char **sentence)
{
	*sentence = NULL;
	if (t->result != CURLE_OK) {
		*sentence = failure_sentence(t);
		return (struct http_response){
			.is_untrusted =
				t->result == CURLE_PEER_FAILED_VERIFICATION,
			.is_too_large = t->received.overflowed,
			.body = "",
			.error = *sentence,
		};
	}
	return (struct http_response){
		.status = t->status,
		.body = t->received.data != NULL ? t->received.data : "",
		.len = t->received.len,
		.retry_after_ms = retry_after_ms(t),
		.error = "",
	};
}
