#include "kube/http_transfer.h"

#include "lib/memory.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

/* A silent peer is detected after 15 + 3 * 5 s. Watches are often silent for
 * minutes, so their timeouts cannot detect it. */
enum { PROBE_IDLE_S = 15, PROBE_EVERY_S = 5, PROBES = 3 };

enum {
	CONNECT_MS = 10000,
	READ_BYTES = 64 << 10,
	ERROR_BODY_MAX = 64 << 10, /* of an error response to a stream */
};

/* ---- called by curl ---- */

bool http_transfer_streams(const struct http_transfer *t)
{
	return t->on_chunk != NULL && t->status / 100 == 2;
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
	(void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	t->status = status >= 200 ? (int)status : 0;
	if (http_transfer_streams(t)) {
		t->has_begun = true;
		t->on_ready(t);
	} else if (t->status != 0 && t->on_chunk != NULL) {
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

static int on_socket(void *owner, curl_socket_t fd, curlsocktype purpose)
{
	const int probes = PROBES;

	(void)owner;
	(void)purpose;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	return CURL_SOCKOPT_OK;
}

static void set_blob(CURL *easy, CURLoption option, const char *text)
{
	struct curl_blob blob = { .flags = CURL_BLOB_COPY };

	if (text != NULL) {
		/* curl copies the text, so dropping const here is safe. */
		memcpy(&blob.data, &text, sizeof(text));
		blob.len = strlen(text);
		(void)curl_easy_setopt(easy, option, &blob);
	}
}

/* The same for every request. */
static const struct {
	CURLoption option;
	long value;
} fixed_options[] = {
	{ CURLOPT_NOSIGNAL, 1 },
	{ CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1 },
	{ CURLOPT_SSL_VERIFYPEER, 1 },
	{ CURLOPT_SSL_VERIFYHOST, 2 },
	{ CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2 },
	{ CURLOPT_FOLLOWLOCATION, 0 },
	{ CURLOPT_NETRC, CURL_NETRC_IGNORED },
	{ CURLOPT_PATH_AS_IS, 1 },
	{ CURLOPT_BUFFERSIZE, READ_BYTES },
	{ CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS },
	{ CURLOPT_TCP_KEEPALIVE, 1 },
	{ CURLOPT_TCP_KEEPIDLE, PROBE_IDLE_S },
	{ CURLOPT_TCP_KEEPINTVL, PROBE_EVERY_S },
	/* A thread of curl resolves names. Without this option, ending a
	 * request blocks the loop until the name server answers. */
	{ CURLOPT_QUICK_EXIT, 1 },
};

static void set_connection(CURL *easy, const struct http_call *call)
{
	for (size_t i = 0; i < count_of(fixed_options); i++) {
		(void)curl_easy_setopt(easy, fixed_options[i].option,
			fixed_options[i].value);
	}
	(void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
	(void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR,
		call->allows_plain ? "http,https" : "https");
	(void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
		(long)call->timeout_ms);
	(void)curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
}

static void set_tls(CURL *easy, const struct http_tls *tls)
{
	/* Debian's curl would trust the system's directory in addition to ca.
	 * Without ca it would reread the system's bundle for each connection
	 * instead of caching it (CURLOPT_CA_CACHE_TIMEOUT). */
	(void)curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	set_blob(easy, CURLOPT_CAINFO_BLOB, tls->ca);
	set_blob(easy, CURLOPT_SSLCERT_BLOB, tls->cert);
	set_blob(easy, CURLOPT_SSLKEY_BLOB, tls->key);
}

static void set_request(struct http_transfer *t, const char *agent,
	const struct http_call *call)
{
	CURL *easy = t->easy;

	(void)curl_easy_setopt(easy, CURLOPT_URL, call->url);
	(void)curl_easy_setopt(easy, CURLOPT_USERAGENT, agent);
	(void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, t->headers);
	if (call->body != NULL) {
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call->body);
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
			(curl_off_t)call->len);
	}
	(void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
	(void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, t);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
	(void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->reason);
	(void)curl_easy_setopt(easy, CURLOPT_PRIVATE, t);
}

static void add_header(struct http_transfer *t, const char *header)
{
	struct curl_slist *longer = curl_slist_append(t->headers, header);

	assert(longer != NULL);
	t->headers = longer;
}

/* The part of the URL before its path. */
static char *origin_of(const char *url)
{
	const char *host = strstr(url, "://");

	host = host != NULL ? host + 3 : url;
	return xstrndup(url, (size_t)(host - url) + strcspn(host, "/"));
}

struct http_transfer *http_transfer_new(CURL *easy, const char *agent,
	const struct http_call *call)
{
	struct http_transfer *t = xcalloc(1, sizeof(*t));
	const char *const *header = call->headers;

	t->easy = easy;
	t->received = BUFFER_MAX(call->max);
	t->origin = origin_of(call->url);
	t->on_chunk = call->on_chunk;
	t->on_done = call->on_done;
	t->owner = call->owner;
	/* Waiting for "100 Continue" costs a second with servers that do not
	 * know it. */
	add_header(t, "Expect:");
	for (; header != NULL && *header != NULL; header++) {
		add_header(t, *header);
	}
	set_connection(easy, call);
	if (call->tls != NULL) {
		set_tls(easy, call->tls);
	}
	set_request(t, agent, call);
	return t;
}

void http_transfer_free(struct http_transfer *t)
{
	/* A header may hold a token. */
	for (struct curl_slist *h = t->headers; h != NULL; h = h->next) {
		explicit_bzero(h->data, strlen(h->data));
	}
	curl_slist_free_all(t->headers);
	buffer_fini(&t->received);
	free(t->origin);
	free(t);
}

/* ---- the result ---- */

static const char *failure_text(const struct http_transfer *t)
{
	return t->reason[0] != '\0' ? t->reason : curl_easy_strerror(t->result);
}

static char *failure_sentence(const struct http_transfer *t)
{
	if (t->received.overflowed) {
		return xasprintf(
			"the response of '%s' is larger than %zu bytes",
			t->origin, t->received.max);
	}
	switch (t->result) {
	case CURLE_PEER_FAILED_VERIFICATION:
		return xasprintf("the certificate of '%s' is not trusted: %s",
			t->origin, failure_text(t));
	case CURLE_SSL_CERTPROBLEM:
		return xasprintf(
			"cannot use the client certificate or key for '%s': %s",
			t->origin, failure_text(t));
	case CURLE_OPERATION_TIMEDOUT:
		return xasprintf("no response from '%s' in time: %s", t->origin,
			failure_text(t));
	default:
		return xasprintf("cannot reach '%s': %s", t->origin,
			failure_text(t));
	}
}

static uint64_t retry_after_ms(const struct http_transfer *t)
{
	curl_off_t seconds = 0;

	(void)curl_easy_getinfo(t->easy, CURLINFO_RETRY_AFTER, &seconds);
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
