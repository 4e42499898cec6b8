#include "lib/mq/mq_nng.h"

#include "lib/address.h"
#include "lib/clock.h"
#include "lib/memory.h"
#include "lib/options.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

int mq_errno(int nng)
{
	switch (nng) {
	case NNG_EADDRINUSE:
		return -EADDRINUSE;
	case NNG_EADDRINVAL:
		return -EADDRNOTAVAIL;
	case NNG_ENOMEM:
		return -ENOMEM;
	case NNG_EPERM:
		return -EACCES;
	case NNG_EINVAL:
		return -EINVAL;
	default:
		return -EIO;
	}
}

/* nng adds EAI_ADDRFAMILY and the like, which are negative, to NNG_ESYSERR. */
static int resolver_error(int nng)
{
	enum { RESOLVER_ERRORS = 1000 };
	int error = nng - NNG_ESYSERR;

	return error < 0 && error > -RESOLVER_ERRORS ? error : 0;
}

const char *mq_error_text(int nng)
{
	int error = resolver_error(nng);

	return error == 0 ? nng_strerror(nng) : gai_strerror(error);
}

/* ---- listening ---- */

static int listen_on(nng_listener *out, nng_socket socket, const char *url,
	nng_tls_config *config)
{
	int r = nng_listener_create(out, socket, url);

	if (r != 0) {
		return r;
	}
	if (config != NULL) {
		r = nng_listener_set_ptr(*out, NNG_OPT_TLS_CONFIG, config);
	}
	if (r == 0) {
		r = nng_listener_start(*out, 0);
	}
	if (r != 0) {
		(void)nng_listener_close(*out);
	}
	return r;
}

static int listen_on_host(nng_listener *out, nng_socket socket, const char *url,
	const char *host, nng_tls_config *config)
{
	const char *port = strstr(url, "://") + 3;
	scoped_free char *full =
		xasprintf("%.*s%s%s", (int)(port - url), url, host, port);

	return listen_on(out, socket, full, config);
}

static bool lacks_family(int nng)
{
	return resolver_error(nng) != 0 || nng == NNG_EADDRINVAL ||
		nng == NNG_ENOTSUP || nng == NNG_ESYSERR + EAFNOSUPPORT;
}

int mq_listen(nng_listener *out, nng_socket socket, const char *url,
	nng_tls_config *config)
{
	int r;

	if (strstr(url, "://:") == NULL) {
		return listen_on(out, socket, url, config);
	}
	r = listen_on_host(out, socket, url, "[::]", config);
	return lacks_family(r)
		? listen_on_host(out, socket, url, "0.0.0.0", config)
		: r;
}

int mq_failure_since(uint64_t *seen, nng_stat *endpoint,
	const char *const *stats, size_t count)
{
	int first = -1;

	for (size_t i = 0; i < count; i++) {
		nng_stat *stat = nng_stat_find(endpoint, stats[i]);
		uint64_t value = stat == NULL ? 0 : nng_stat_value(stat);

		if (value > seen[i] && first < 0) {
			first = (int)i;
		}
		seen[i] = value;
	}
	return first;
}

static bool is_tls(const char *url)
{
	return strncmp(url, "tls+tcp://", 10) == 0;
}

int mq_check_url(const char *url, const struct tls_material *tls,
	struct error *err)
{
	int r = address_check_url(url, false, err);

	if (r < 0) {
		return r;
	}
	/* A program with certificates must not connect without encryption. */
	if (!is_tls(url) && tls != NULL) {
		return error_set(err, -EINVAL,
			"'%s' does not use TLS, but TLS files are given; use "
			"tls+tcp://",
			url);
	}
	if (is_tls(url) && tls == NULL) {
		return error_set(err, -EINVAL, "'%s' requires TLS files", url);
	}
	return 0;
}

int mq_tls_config(nng_tls_config **config, nng_tls_mode mode,
	const struct tls_material *tls)
{
	int r = nng_tls_config_alloc(config, mode);

	if (r == 0) {
		r = nng_tls_config_version(*config, NNG_TLS_1_2, NNG_TLS_1_3);
	}
	if (r == 0 && tls->ca != NULL) {
		r = nng_tls_config_ca_chain(*config, tls->ca, NULL);
	}
	if (r == 0 && tls->cert != NULL) {
		r = nng_tls_config_own_cert(*config, tls->cert, tls->key, NULL);
	}
	if (r == 0 && mode == NNG_TLS_MODE_SERVER) {
		r = nng_tls_config_auth_mode(*config,
			tls->ca == NULL ? NNG_TLS_AUTH_MODE_NONE
					: NNG_TLS_AUTH_MODE_REQUIRED);
	}
	return r;
}

static void config_free(nng_tls_config *config)
{
	if (config != NULL) {
		nng_tls_config_free(config);
	}
}

void mq_tls_replace(struct mq_tls *tls, nng_tls_config *config)
{
	config_free(tls->before);
	tls->before = tls->now;
	tls->now = config;
}

void mq_tls_fini(struct mq_tls *tls)
{
	config_free(take_ptr(tls->before));
	config_free(take_ptr(tls->now));
}

char *mq_host(const char *url)
{
	const char *host = strstr(url, "://") + 3;
	size_t len = (size_t)(strrchr(host, ':') - host);

	if (*host == '[' && len > 2) {
		return xstrndup(host + 1, len - 2);
	}
	return xstrndup(host, len);
}

/* Shared by the waiting and the closing thread; the last one frees it. */
struct closing {
	nng_socket socket;
	void *owner;
	uv_mutex_t mutex;
	uv_cond_t over;
	bool is_over, is_abandoned;
};

static void closing_free(struct closing *closing)
{
	uv_mutex_destroy(&closing->mutex);
	uv_cond_destroy(&closing->over);
	free(closing);
}

static void *run_close(void *argument)
{
	struct closing *closing = argument;
	bool is_abandoned;

	(void)nng_close(closing->socket);
	uv_mutex_lock(&closing->mutex);
	closing->is_over = true;
	is_abandoned = closing->is_abandoned;
	uv_cond_signal(&closing->over);
	uv_mutex_unlock(&closing->mutex);
	if (is_abandoned) {
		closing_free(closing);
	}
	return NULL;
}

static bool await_close(struct closing *closing)
{
	uint64_t end_us = clock_monotonic_us() + MQ_CLOSE_MS * UINT64_C(1000);
	uint64_t now_us = clock_monotonic_us();
	bool is_over;

	uv_mutex_lock(&closing->mutex);
	while (!closing->is_over && now_us < end_us) {
		(void)uv_cond_timedwait(&closing->over, &closing->mutex,
			(end_us - now_us) * 1000);
		now_us = clock_monotonic_us();
	}
	is_over = closing->is_over;
	closing->is_abandoned = !is_over;
	uv_mutex_unlock(&closing->mutex);
	return is_over;
}

bool mq_close_socket(nng_socket socket, void *owner)
{
	struct closing *closing = xcalloc(1, sizeof(*closing));
	pthread_t thread;

	closing->socket = socket;
	closing->owner = owner;
	if (uv_mutex_init(&closing->mutex) != 0 ||
		uv_cond_init(&closing->over) != 0 ||
		pthread_create(&thread, NULL, run_close, closing) != 0) {
		abort();
	}
	if (!await_close(closing)) {
		(void)pthread_detach(thread);
		return false;
	}
	(void)pthread_join(thread, NULL);
	closing_free(closing);
	return true;
}
