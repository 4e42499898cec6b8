#include "kube/http_handle.h"

#include "lib/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A silent peer is detected after 15 + 3 * 5 s; kube/http_sockets.c has the
 * number of probes. Watches are often silent for minutes, so their timeouts
 * cannot detect it. */
enum { PROBE_IDLE_S = 15, PROBE_EVERY_S = 5 };

enum {
	CONNECT_MS = 10000,
	/* OpenSSL returns one record of TLS at a time, which is not larger.
	 * glibc merges its free blocks each time that 64 KiB are freed, and
	 * curl frees its buffers after each request. */
	BUFFER_BYTES = 16 << 10,
};

struct http_setup {
	unsigned references;
	char *agent;
	char *ca, *cert, *key; /* NULL: none */
	bool has_tls;
	bool allows_plain;
};

static char *copy(const char *text)
{
	return text == NULL ? NULL : xstrdup(text);
}

struct http_setup *http_setup_new(const char *agent,
	const struct http_call *call)
{
	struct http_setup *setup = xcalloc(1, sizeof(*setup));

	setup->references = 1;
	setup->agent = xstrdup(agent);
	setup->allows_plain = call->allows_plain;
	setup->has_tls = call->tls != NULL;
	if (setup->has_tls) {
		setup->ca = copy(call->tls->ca);
		setup->cert = copy(call->tls->cert);
		setup->key = copy(call->tls->key);
	}
	return setup;
}

struct http_setup *http_setup_ref(struct http_setup *setup)
{
	setup->references++;
	return setup;
}

void http_setup_release(struct http_setup *setup)
{
	if (setup != NULL && --setup->references == 0) {
		free(setup->agent);
		free(setup->ca);
		free(setup->cert);
		secret_free(setup->key);
		free(setup);
	}
}

static bool is_same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool http_setup_serves(const struct http_setup *setup,
	const struct http_call *call)
{
	const struct http_tls *tls = call->tls;

	if (setup->allows_plain != call->allows_plain ||
		setup->has_tls != (tls != NULL)) {
		return false;
	}
	return tls == NULL ||
		(is_same(setup->ca, tls->ca) &&
			is_same(setup->cert, tls->cert) &&
			is_same(setup->key, tls->key));
}

/* The same for every request. */
static const struct {
	CURLoption option;
	long value;
} fixed_options[] = {
	{ CURLOPT_NOSIGNAL, 1 },
	/* A connection has one request at a time. With several streams of
	 * HTTP/2 on a socket, curl 7.88 leaves responses unread until the
	 * next timer, and a stalled connection would stall all of them. */
	{ CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1 },
	{ CURLOPT_SSL_VERIFYPEER, 1 },
	{ CURLOPT_SSL_VERIFYHOST, 2 },
	{ CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2 },
	{ CURLOPT_FOLLOWLOCATION, 0 },
	{ CURLOPT_NETRC, CURL_NETRC_IGNORED },
	{ CURLOPT_PATH_AS_IS, 1 },
	{ CURLOPT_BUFFERSIZE, BUFFER_BYTES },
	{ CURLOPT_UPLOAD_BUFFERSIZE, BUFFER_BYTES },
	{ CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS },
	{ CURLOPT_TCP_KEEPALIVE, 1 },
	{ CURLOPT_TCP_KEEPIDLE, PROBE_IDLE_S },
	{ CURLOPT_TCP_KEEPINTVL, PROBE_EVERY_S },
	/* A thread of curl resolves names. Without this option, ending a
	 * request blocks the loop until the name server answers. */
	{ CURLOPT_QUICK_EXIT, 1 },
};

/* The handle holds the setup, which outlives the blob. */
static void set_blob(CURL *easy, CURLoption option, char *text)
{
	struct curl_blob blob = { .data = text, .flags = CURL_BLOB_NOCOPY };

	if (text != NULL) {
		blob.len = strlen(text);
		(void)curl_easy_setopt(easy, option, &blob);
	}
}

static void set_tls(CURL *easy, const struct http_setup *setup)
{
	/* Debian's curl would trust the system's directory in addition to ca.
	 * Without ca it would reread the system's bundle for each connection
	 * instead of caching it (CURLOPT_CA_CACHE_TIMEOUT). */
	(void)curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	set_blob(easy, CURLOPT_CAINFO_BLOB, setup->ca);
	set_blob(easy, CURLOPT_SSLCERT_BLOB, setup->cert);
	set_blob(easy, CURLOPT_SSLKEY_BLOB, setup->key);
}

static void set_options(CURL *easy, const struct http_setup *setup)
{
	for (size_t i = 0; i < count_of(fixed_options); i++) {
		(void)curl_easy_setopt(easy, fixed_options[i].option,
			fixed_options[i].value);
	}
	(void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
	(void)curl_easy_setopt(easy, CURLOPT_USERAGENT, setup->agent);
	(void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR,
		setup->allows_plain ? "http,https" : "https");
	if (setup->has_tls) {
		set_tls(easy, setup);
	}
}

void http_handle_set_up(struct http_handle *handle, struct http_setup *setup)
{
	if (handle->setup == setup) {
		return;
	}
	if (handle->easy == NULL) {
		handle->easy = curl_easy_init();
		assert(handle->easy != NULL);
	} else {
		curl_easy_reset(handle->easy);
	}
	set_options(handle->easy, setup);
	http_setup_release(handle->setup);
	handle->setup = http_setup_ref(setup);
}

void http_handle_clear(struct http_handle *handle)
{
	CURL *easy = handle->easy;

	(void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, NULL);
	(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, NULL);
	(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
		(curl_off_t)-1);
	(void)curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, NULL);
	(void)curl_easy_setopt(easy, CURLOPT_PRIVATE, NULL);
}

void http_handle_fini(struct http_handle *handle)
{
	if (handle->easy != NULL) {
		curl_easy_cleanup(handle->easy);
	}
	http_setup_release(handle->setup);
	*handle = (struct http_handle){ 0 };
}
