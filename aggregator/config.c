#include "aggregator/config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

/* Below a minute a replayed report might be deleted as it comes in. */
static const double retention_min_us = 60e6;
static const double retention_max_us = 3650.0 * 86400e6;

/* A shorter one makes chunks of few reports, which are larger per report. */
static const double compact_min_us = 1e6;
static const double compact_max_us = 86400e6;

/* The largest report and some more must find room. */
static const double queue_min_bytes = 4 << 20;

/* As in enum auth. */
static const char auth_choices[] = "none kubernetes";

static const char secure[] = "tls+tcp://";

static const struct option table[] = {
	{ "listen", "URL", OPTION_TEXT, offsetof(struct config, listen),
		"tcp://0.0.0.0:7473",
		"where agents send reports and schedulers ask for snapshots; "
		"tls+tcp:// with --tls-cert and --tls-key",
		0, 0, NULL, NULL },
	{ "tls-ca", "FILE", OPTION_TEXT, offsetof(struct config, tls.ca), NULL,
		"authorities, as PEM; agents and schedulers must then show a "
		"certificate of one of them",
		0, 0, NULL, NULL },
	{ "tls-cert", "FILE", OPTION_TEXT, offsetof(struct config, tls.cert),
		NULL, "certificate for --listen, as PEM", 0, 0, NULL, NULL },
	{ "tls-key", "FILE", OPTION_TEXT, offsetof(struct config, tls.key),
		NULL, "its key", 0, 0, NULL, NULL },
	{ "wire-auth", "WHO", OPTION_CHOICE, offsetof(struct config, wire_auth),
		"none",
		"who says which agents and schedulers are let in: none (all "
		"are) or kubernetes (by the token they show; needs tls+tcp://)",
		0, 0, auth_choices, NULL },
	{ "http", "HOST:PORT", OPTION_TEXT, offsetof(struct config, http),
		"0.0.0.0:7474", "where the HTTP interface listens", 0, 0, NULL,
		NULL },
	{ "http-tls-cert", "FILE", OPTION_TEXT,
		offsetof(struct config, http_tls.cert), NULL,
		"certificate for --http, which then speaks HTTPS only", 0, 0,
		NULL, NULL },
	{ "http-tls-key", "FILE", OPTION_TEXT,
		offsetof(struct config, http_tls.key), NULL, "its key", 0, 0,
		NULL, NULL },
	{ "http-auth", "WHO", OPTION_CHOICE, offsetof(struct config, http_auth),
		"none",
		"who says which requests are answered: none (all are) or "
		"kubernetes (by the bearer token; needs --http-tls-cert or a "
		"loopback address)",
		0, 0, auth_choices, NULL },
	{ "kubeconfig", "FILE", OPTION_TEXT,
		offsetof(struct config, kubeconfig), NULL,
		"how to reach the API server, for the names of VMs and for "
		"kubernetes as --wire-auth or --http-auth; without it the "
		"pod's service account, with --wire-auth or --http-auth also "
		"$KUBECONFIG and ~/.kube/config",
		0, 0, NULL, NULL },
	{ "health", "HOST:PORT", OPTION_TEXT, offsetof(struct config, health),
		"0.0.0.0:7476", "where /healthz and /readyz listen", 0, 0, NULL,
		NULL },
	{ "db", "FILE", OPTION_TEXT, offsetof(struct config, db), "plimsoll.db",
		"the database; made if it is not there", 0, 0, NULL, NULL },
	{ "retention-raw", "DURATION", OPTION_DURATION,
		offsetof(struct config, retention_us[STORE_RAW]), "7d",
		"how long reports are kept as they came, and up to a day "
		"longer",
		retention_min_us, retention_max_us, NULL, NULL },
	{ "retention-1m", "DURATION", OPTION_DURATION,
		offsetof(struct config, retention_us[STORE_1M]), "90d",
		"how long minutes (mean, max, p95) are kept", retention_min_us,
		retention_max_us, NULL, NULL },
	{ "retention-decisions", "DURATION", OPTION_DURATION,
		offsetof(struct config, retention_decisions_us), "720h",
		"how long records of schedulers' decisions are kept",
		retention_min_us, retention_max_us, NULL, NULL },
	{ "retention-1h", "DURATION", OPTION_DURATION,
		offsetof(struct config, retention_us[STORE_1H]), "730d",
		"how long hours are kept", retention_min_us, retention_max_us,
		NULL, NULL },
	{ "max-db-size", "SIZE", OPTION_BYTES,
		offsetof(struct config, max_db_bytes), "40GiB",
		"beyond it the oldest day of reports is deleted, then of "
		"minutes; 0: no limit",
		0, 1e18, NULL, NULL },
	{ "compact-after", "DURATION", OPTION_DURATION,
		offsetof(struct config, compact_us), "1h",
		"how long reports are rows before they are packed into chunks",
		compact_min_us, compact_max_us, NULL, NULL },
	{ "metrics-vms", "N", OPTION_INTEGER,
		offsetof(struct config, metrics_vms), "10000",
		"how many VM pods have series in /metrics; 0: none", 0, 1e6,
		NULL, NULL },
	{ "remote-write", "URL", OPTION_TEXT,
		offsetof(struct config, remote.url), NULL,
		"where all that is stored is sent as well, as Prometheus "
		"remote write 1.0: https://HOST/PATH",
		0, 0, NULL, NULL },
	{ "remote-write-queue", "SIZE", OPTION_BYTES,
		offsetof(struct config, remote.queue_bytes), "2GiB",
		"how much of the database may wait to be sent; beyond it the "
		"oldest reports are left out and counted",
		queue_min_bytes, 1e18, NULL, NULL },
	{ "remote-write-ca", "FILE", OPTION_TEXT,
		offsetof(struct config, remote.ca), NULL,
		"authorities whose certificates that server may have, as PEM; "
		"without it those the system trusts",
		0, 0, NULL, NULL },
	{ "remote-write-token-file", "FILE", OPTION_TEXT,
		offsetof(struct config, remote.token_file), NULL,
		"bearer token, or the password of --remote-write-user; read "
		"again every minute; needs https:// or a loopback address",
		0, 0, NULL, NULL },
	{ "remote-write-user", "NAME", OPTION_TEXT,
		offsetof(struct config, remote.user), NULL,
		"user for basic authentication", 0, 0, NULL, NULL },
	{ "remote-write-header", "HEADER", OPTION_LIST,
		offsetof(struct config, remote.headers), NULL,
		"sent with each request, as 'NAME: VALUE'; may be repeated", 0,
		0, NULL, NULL },
	{ "remote-write-label", "LABEL", OPTION_LIST,
		offsetof(struct config, remote.labels), NULL,
		"label of all series that are sent, as NAME=VALUE; may be "
		"repeated",
		0, 0, NULL, NULL },
	OPTIONS_LOG_ROWS(struct config, log_format, log_level),
	{ .name = NULL },
};

const struct options_program aggregator_program = {
	.name = "plimsoll-aggregator",
	.summary =
		"collects and keeps what the nodes of a cluster are loaded "
		"with",
	.usage = "[OPTIONS] | backup --to FILE | export",
	.table = table,
};

static const struct option backup_table[] = {
	{ "db", "FILE", OPTION_TEXT, offsetof(struct backup_config, db),
		"plimsoll.db", "the database; an aggregator may be using it", 0,
		0, NULL, NULL },
	{ "to", "FILE", OPTION_TEXT, offsetof(struct backup_config, to), NULL,
		"where the copy goes; nothing may be called that yet", 0, 0,
		NULL, NULL },
	{ .name = NULL },
};

const struct options_program backup_program = {
	.name = "plimsoll-aggregator backup",
	.summary = "copies the database as it is at one moment",
	.usage = "--to FILE [OPTIONS]",
	.table = backup_table,
};

static const struct option export_table[] = {
	{ "db", "FILE", OPTION_TEXT, offsetof(struct export_config, db),
		"plimsoll.db", "the database; an aggregator may be using it", 0,
		0, NULL, NULL },
	{ "from", "TIME", OPTION_TEXT, offsetof(struct export_config, from),
		NULL, "RFC 3339 or unix seconds; without it a day before --to",
		0, 0, NULL, NULL },
	{ "to", "TIME", OPTION_TEXT, offsetof(struct export_config, to), NULL,
		"the same; without it the last whole minute", 0, 0, NULL,
		NULL },
	{ "step", "DURATION", OPTION_DURATION,
		offsetof(struct export_config, step_us), "1m",
		"how long a step is, in whole minutes", 60e6, 86400e6, NULL,
		NULL },
	{ .name = NULL },
};

const struct options_program export_program = {
	.name = "plimsoll-aggregator export",
	.summary =
		"prints what VMs used and when, for plimsoll-scheduler "
		"simulate --recorded",
	.usage = "[OPTIONS]",
	.table = export_table,
};

/* ---- checks ---- */

static bool is_loopback(const char *address)
{
	static const char v6[] = "[::1]:";
	const char *colon = strrchr(address, ':');
	char host[INET_ADDRSTRLEN] = "";
	struct in_addr v4;

	if (strncmp(address, v6, sizeof(v6) - 1) == 0) {
		return true;
	}
	if (colon == NULL || (size_t)(colon - address) >= sizeof(host)) {
		return false;
	}
	memcpy(host, address, (size_t)(colon - address));
	return inet_pton(AF_INET, host, &v4) == 1 &&
		ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
}

static int check_pair(const struct tls_files *files, const char *prefix,
	struct error *err)
{
	if ((files->cert == NULL) != (files->key == NULL)) {
		return error_set(err, -EINVAL,
			"--%stls-cert and --%stls-key go together: one of "
			"them is missing",
			prefix, prefix);
	}
	return 0;
}

static int check_wire(const struct config *config, struct error *err)
{
	const struct tls_files *files = &config->tls;
	bool is_secure =
		strncmp(config->listen, secure, sizeof(secure) - 1) == 0;
	int r = check_pair(files, "", err);

	if (r < 0) {
		return r;
	}
	if (is_secure && files->cert == NULL) {
		return error_set(err, -EINVAL,
			"--listen: '%s' needs --tls-cert and --tls-key",
			config->listen);
	}
	if (!is_secure && (files->cert != NULL || files->ca != NULL)) {
		return error_set(err, -EINVAL,
			"--listen: '%s' does not use the --tls flags that are "
			"given; say tls+tcp://",
			config->listen);
	}
	if (!is_secure && config->wire_auth == AUTH_KUBERNETES) {
		return error_set(err, -EINVAL,
			"--wire-auth: tokens are taken over TLS only, and "
			"--listen '%s' does not use it; say tls+tcp://",
			config->listen);
	}
	return 0;
}

static int check_http(const struct config *config, struct error *err)
{
	int r = check_pair(&config->http_tls, "http-", err);

	if (r < 0) {
		return r;
	}
	if (config->http_auth == AUTH_KUBERNETES &&
		config->http_tls.cert == NULL && !is_loopback(config->http)) {
		return error_set(err, -EINVAL,
			"--http-auth: tokens are taken over TLS only, and "
			"--http '%s' does not use it; give --http-tls-cert and "
			"--http-tls-key, or a loopback address",
			config->http);
	}
	return 0;
}

/* What waits to be sent is in the database: if it could fill it, an engine
 * that is away would cost the history. */
static int check_remote(const struct config *config, struct error *err)
{
	if (config->remote.url != NULL && config->max_db_bytes != 0 &&
		config->remote.queue_bytes > config->max_db_bytes / 2) {
		return error_set(err, -EINVAL,
			"--remote-write-queue: it is more than half of "
			"--max-db-size");
	}
	return remote_check(&config->remote, err);
}

int config_check(const struct config *config, struct error *err)
{
	int r = check_wire(config, err);

	if (r == 0) {
		r = check_http(config, err);
	}
	return r < 0 ? r : check_remote(config, err);
}

bool config_needs_api(const struct config *config)
{
	return config->wire_auth == AUTH_KUBERNETES ||
		config->http_auth == AUTH_KUBERNETES;
}

bool config_has_api(const struct config *config, bool is_in_pod)
{
	return is_in_pod || config->kubeconfig != NULL ||
		config_needs_api(config);
}
