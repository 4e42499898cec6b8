#include "aggregator/config.h"

#include "lib/address.h"
#include "lib/log.h"
#include "lib/memory.h"
#include "lib/options.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* With less than a minute, replayed reports could be deleted on arrival. */
static const double retention_min_us = 60e6;
static const double retention_max_us = 3650.0 * 86400e6;

/* A shorter age makes chunks of few reports, which take more space each. */
static const double compact_min_us = 1e6;
static const double compact_max_us = 86400e6;

/* Younger nodes are not lost yet (proto/load.h). */
static const double forget_min_us = 300e6;

/* The queue must hold at least the largest report. */
static const double queue_min_bytes = 4 << 20;

static const char secure[] = "tls+tcp://";

#define ROW(member_, ...)                                                      \
	OPTION_ROW(struct aggregator_config, member_, __VA_ARGS__)

/* The flags of a struct http_target_config, without its URL. */
#define TARGET_ROWS(target_, flag_, words_)                                    \
	ROW(target_.ca, flag_ "-ca", OPTION_TEXT, "FILE",                      \
		.help = "CA bundle (PEM) that verifies the " words_            \
			" server; default: the system's"),                     \
		ROW(target_.token_file, flag_ "-token-file", OPTION_TEXT,      \
			"FILE",                                                \
			.help = "file with the bearer token, or with the "     \
				"password of "                                 \
				"--" flag_                                     \
				"-user; read again every minute; needs "       \
				"https:// or a loopback address"),             \
		ROW(target_.user, flag_ "-user", OPTION_TEXT, "NAME",          \
			.help = "user name for basic authentication"),         \
		ROW(target_.headers, flag_ "-header", OPTION_LIST, "HEADER",   \
			.help = "header of each " words_                       \
				" request, as 'NAME: "                         \
				"VALUE'; may be repeated")

static const struct option table[] = {
	ROW(listen, "listen", OPTION_TEXT, "URL", .fallback = "tcp://:7473",
		.help = "listener for agents and schedulers; tls+tcp:// needs "
			"--tls-cert and --tls-key"),
	ROW(tls.ca, "tls-ca", OPTION_TEXT, "FILE",
		.help = "CA bundle (PEM) that verifies the client "
			"certificates of agents and schedulers; without it no "
			"client certificate is required"),
	ROW(tls.cert, "tls-cert", OPTION_TEXT, "FILE",
		.help = "server certificate of --listen (PEM)"),
	ROW(tls.key, "tls-key", OPTION_TEXT, "FILE",
		.help = "private key of --tls-cert (PEM)"),
	ROW(wire_auth, "wire-auth", OPTION_CHOICE, "MODE", .fallback = "none",
		.help = "how agents and schedulers are authenticated: none, "
			"or kubernetes (by ServiceAccount token; needs "
			"tls+tcp://)",
		.choices = auth_mode_choices),
	ROW(http, "http", OPTION_ADDRESS, "HOST:PORT", .fallback = ":7474",
		.help = "listener of the HTTP API"),
	ROW(http_tls.cert, "http-tls-cert", OPTION_TEXT, "FILE",
		.help = "server certificate of --http (PEM); the listener "
			"then accepts HTTPS only"),
	ROW(http_tls.key, "http-tls-key", OPTION_TEXT, "FILE",
		.help = "private key of --http-tls-cert (PEM)"),
	ROW(http_auth, "http-auth", OPTION_CHOICE, "MODE", .fallback = "none",
		.help = "how HTTP requests are authenticated: none, or "
			"kubernetes (by bearer token; needs --http-tls-cert "
			"or a loopback address)",
		.choices = auth_mode_choices),
	ROW(api, "api", OPTION_ADDRESS, "HOST:PORT",
		.help = "listener of the Kubernetes API load.plimsoll.io, for "
			"kube-apiserver as its front proxy; default: off"),
	ROW(api_tls.cert, "api-tls-cert", OPTION_TEXT, "FILE",
		.help = "server certificate of --api (PEM)"),
	ROW(api_tls.key, "api-tls-key", OPTION_TEXT, "FILE",
		.help = "private key of --api-tls-cert (PEM)"),
	ROW(kubeconfig, "kubeconfig", OPTION_TEXT, "FILE",
		.help = "kubeconfig of the API server that names VMs and "
			"checks tokens; default: the pod's service account, "
			"and with --wire-auth, --http-auth or --api also "
			"$KUBECONFIG and ~/.kube/config"),
	ROW(health, "health", OPTION_ADDRESS, "HOST:PORT", .fallback = ":7476",
		.help = "listener of /healthz, /livez and /readyz"),
	ROW(db, "db", OPTION_TEXT, "FILE", .fallback = "plimsoll.db",
		.help = "database file; created if it does not exist"),
	ROW(retention_us[STORE_RAW], "retention-raw", OPTION_DURATION,
		"DURATION", .fallback = "7d",
		.help = "how long reports are kept at full resolution; a day "
			"is deleted as a whole",
		.min = retention_min_us, .max = retention_max_us),
	ROW(retention_us[STORE_1M], "retention-1m", OPTION_DURATION, "DURATION",
		.fallback = "90d",
		.help = "how long one-minute rollups (mean, max, p95) are "
			"kept",
		.min = retention_min_us, .max = retention_max_us),
	ROW(retention_decisions_us, "retention-decisions", OPTION_DURATION,
		"DURATION", .fallback = "720h",
		.help = "how long decisions and moves are kept",
		.min = retention_min_us, .max = retention_max_us),
	ROW(retention_us[STORE_1H], "retention-1h", OPTION_DURATION, "DURATION",
		.fallback = "730d",
		.help = "how long one-hour rollups are kept",
		.min = retention_min_us, .max = retention_max_us),
	ROW(max_db_bytes, "max-db-size", OPTION_BYTES, "SIZE",
		.fallback = "40GiB",
		.help = "size limit of the database; above it the oldest data "
			"is deleted, first that of a node with far more than "
			"its share; 0: no limit",
		.max = 1e18),
	ROW(compact_us, "compact-after", OPTION_DURATION, "DURATION",
		.fallback = "1h",
		.help = "age at which reports are packed from rows into "
			"chunks",
		.min = compact_min_us, .max = compact_max_us),
	ROW(forget_us, "forget-lost-after", OPTION_DURATION, "DURATION",
		.fallback = "1h",
		.help = "age of the newest report at which a lost node is "
			"removed from the live nodes; its history stays",
		.min = forget_min_us, .max = retention_max_us),
	ROW(metrics_vms, "metrics-vms", OPTION_INTEGER, "N",
		.fallback = "10000",
		.help = "maximum number of VM pods with series in /metrics; "
			"0: none",
		.max = 1e6),
	ROW(remote.http.url, "remote-write", OPTION_TEXT, "URL",
		.help = "URL that receives every stored report as Prometheus "
			"remote write 1.0: https://HOST/PATH"),
	ROW(remote.queue_bytes, "remote-write-queue", OPTION_BYTES, "SIZE",
		.fallback = "2GiB",
		.help = "size limit of the remote write queue in the "
			"database; above it the oldest reports are dropped "
			"and counted",
		.min = queue_min_bytes, .max = 1e18),
	TARGET_ROWS(remote.http, "remote-write", "remote write"),
	ROW(remote.labels, "remote-write-label", OPTION_LIST, "LABEL",
		.help = "label of every series that is sent, as NAME=VALUE; "
			"may be repeated"),
	ROW(remote_read.http.url, "remote-read", OPTION_TEXT, "URL",
		.help = "URL of an engine whose PromQL API answers for what "
			"the database does not have, without "
			"/api/v1/query_range"),
	TARGET_ROWS(remote_read.http, "remote-read", "remote read"),
	ROW(remote_read.labels, "remote-read-label", OPTION_LIST, "LABEL",
		.help = "label of every series that is read, as NAME=VALUE; "
			"may be repeated; default: those of "
			"--remote-write-label"),
	OPTIONS_LOG_ROWS(struct aggregator_config, log_format, log_level),
	{ 0 },
};

const struct options_program aggregator_options = {
	.name = "plimsoll-aggregator",
	.summary = "collects and stores the load of a cluster's nodes and VMs",
	.usage = "[flags] | SUBCOMMAND [flags]",
	.table = table,
};

/* ---- checks ---- */

static int check_wire(const struct aggregator_config *config, struct error *err)
{
	const struct tls_files *files = &config->tls;
	bool is_secure =
		strncmp(config->listen, secure, sizeof(secure) - 1) == 0;
	int r = address_check_url(config->listen, false, err);

	if (r < 0) {
		return error_wrap(err, r, "--listen");
	}
	if ((files->cert == NULL) != (files->key == NULL)) {
		return error_set(err, -EINVAL,
			"--tls-cert and --tls-key require each other");
	}
	if (is_secure && files->cert == NULL) {
		return error_set(err, -EINVAL,
			"--listen: '%s' requires --tls-cert and --tls-key",
			config->listen);
	}
	if (!is_secure && (files->cert != NULL || files->ca != NULL)) {
		return error_set(err, -EINVAL,
			"--listen: '%s' does not use TLS; the --tls flags "
			"require tls+tcp://",
			config->listen);
	}
	if (!is_secure && config->wire_auth == AUTH_KUBERNETES) {
		return error_set(err, -EINVAL,
			"--wire-auth: tokens require TLS, but --listen '%s' "
			"does not use it; use tls+tcp://",
			config->listen);
	}
	return 0;
}

static int check_api(const struct aggregator_config *config, struct error *err)
{
	const struct tls_files *tls = &config->api_tls;

	if (config->api != NULL && (tls->cert == NULL || tls->key == NULL)) {
		return error_set(err, -EINVAL,
			"--api: '%s' requires --api-tls-cert and --api-tls-key",
			config->api);
	}
	if (config->api == NULL && (tls->cert != NULL || tls->key != NULL)) {
		return error_set(err, -EINVAL,
			"--api-tls-cert and --api-tls-key require --api");
	}
	return 0;
}

/* The queue is in the database. If it could fill the database, an outage of the
 * engine would cost the history. */
static int check_remote(const struct aggregator_config *config,
	struct error *err)
{
	int r;

	if (config->remote.http.url != NULL && config->max_db_bytes != 0 &&
		config->remote.queue_bytes > config->max_db_bytes / 2) {
		return error_set(err, -EINVAL,
			"--remote-write-queue: more than half of "
			"--max-db-size");
	}
	r = target_check(&config->remote, err);
	return r < 0 ? r : remote_read_check(&config->remote_read, err);
}

int aggregator_config_check(const struct aggregator_config *config,
	struct error *err)
{
	int r = check_wire(config, err);

	if (r == 0) {
		r = auth_mode_check_http(config->http, &config->http_tls,
			config->http_auth, err);
	}
	r = r == 0 ? check_api(config, err) : r;
	return r < 0 ? r : check_remote(config, err);
}

bool aggregator_config_needs_api(const struct aggregator_config *config)
{
	return config->wire_auth == AUTH_KUBERNETES ||
		config->http_auth == AUTH_KUBERNETES || config->api != NULL;
}

bool aggregator_config_has_api(const struct aggregator_config *config,
	bool is_in_pod)
{
	return is_in_pod || config->kubeconfig != NULL ||
		aggregator_config_needs_api(config);
}

/* The configured address with the bound port; the caller frees it. */
static char *with_port(const char *address, uint16_t port)
{
	const char *colon = strrchr(address, ':');

	return xasprintf("%.*s:%d", (int)(colon - address), address, port);
}

void aggregator_config_log(const struct aggregator_config *config,
	const struct aggregator_ports *ports)
{
	scoped_free char *listen = with_port(config->listen, ports->listen);
	scoped_free char *http = with_port(config->http, ports->http);
	scoped_free char *health = with_port(config->health, ports->health);

	log_info("listening", log_str("listen", listen), log_str("http", http),
		log_str("health", health), log_str("api", config->api),
		log_str("version", plimsoll_version), LOG_END);
}
