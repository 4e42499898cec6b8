#include "lib/mq_nng.h"

#include "lib/memory.h"
#include "lib/options.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

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
	const char *host = url + (is_tls(url) ? 10 : 6);

	if ((!is_tls(url) && strncmp(url, "tcp://", 6) != 0) ||
		!options_has_port(host)) {
		return error_set(err, -EINVAL,
			"'%s' is not of the form tcp://HOST:PORT or "
			"tls+tcp://HOST:PORT",
			url);
	}
	/* Who gives certificates must not end up without encryption. */
	if (!is_tls(url) && tls != NULL) {
		return error_set(err, -EINVAL,
			"'%s' does not use the TLS files that are given; say "
			"tls+tcp://",
			url);
	}
	if (is_tls(url) && tls == NULL) {
		return error_set(err, -EINVAL, "'%s' needs TLS files", url);
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
	return r;
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
