#include "scheduler/config.h"

#include <errno.h>
#include <string.h>

#define ROW(member_, ...)                                                      \
	OPTION_ROW(struct scheduler_config, member_, __VA_ARGS__)

static const struct option table[] = {
	ROW(kubeconfig, "kubeconfig", OPTION_TEXT, "FILE",
		.help = "kubeconfig for the API server; default: $KUBECONFIG, "
			"then the pod's service account, then "
			"~/.kube/config"),
	ROW(scheduler_name, "scheduler-name", OPTION_TEXT, "NAME",
		.fallback = "plimsoll-scheduler",
		.help = "schedule pods with this spec.schedulerName"),
	ROW(aggregators, "aggregator", OPTION_LIST, "URL",
		.help = "aggregator that serves load, tcp://HOST:7473 or "
			"tls+tcp://HOST:7473; may be repeated; without it, "
			"nodes are scored by requests only"),
	CREDENTIALS_OPTION_ROWS(struct scheduler_config, credentials),
	ROW(policy, "policy", OPTION_TEXT, "NAME", .fallback = "real-load",
		.help = "scoring policy: real-load, kube-scheduler, "
			"kube-scheduler-1.21, target-load-packing, "
			"load-variation-risk or low-risk-overcommit"),
	ROW(http, "http", OPTION_ADDRESS, "HOST:PORT",
		.fallback = "0.0.0.0:7475",
		.help = "listener for /healthz, /readyz, /metrics and "
			"/extender"),
	ROW(http_tls.cert, "http-tls-cert", OPTION_TEXT, "FILE",
		.help = "certificate of the --http listener, which then "
			"serves HTTPS only"),
	ROW(http_tls.key, "http-tls-key", OPTION_TEXT, "FILE",
		.help = "private key of --http-tls-cert"),
	ROW(leader_elect, "leader-elect", OPTION_BOOL, NULL, .fallback = "true",
		.help = "schedule pods only while holding a Lease, so that "
			"only one replica is active"),
	ROW(lease_namespace, "leader-elect-resource-namespace", OPTION_TEXT,
		"NAMESPACE",
		.help = "namespace of the Lease; default: that of the service "
			"account or kubeconfig"),
	ROW(lease_name, "leader-elect-resource-name", OPTION_TEXT, "NAME",
		.help = "name of the Lease; default: --scheduler-name"),
	OPTIONS_LOG_ROWS(struct scheduler_config, log_format, log_level),
	{ 0 },
};

const struct options_program scheduler_options = {
	.name = "plimsoll-scheduler",
	.summary = "schedules virtual machines by the real load of nodes",
	.usage = "[score|simulate] [flags]",
	.table = table,
};

int scheduler_config_check(struct scheduler_config *config, struct error *err)
{
	int r = policy_find(&config->scoring, config->policy, NULL, err);

	if (r < 0) {
		return error_wrap(err, r, "--policy");
	}
	if ((config->http_tls.cert == NULL) != (config->http_tls.key == NULL)) {
		return error_set(err, -EINVAL,
			"--http-tls-cert and --http-tls-key require each "
			"other");
	}
	return credentials_check(&config->credentials, &config->aggregators,
		err);
}
