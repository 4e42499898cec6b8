#include "scheduler/config.h"

#include <errno.h>
#include <string.h>

static const struct option scheduler_options[] = {
	{ .name = "kubeconfig",
		.placeholder = "FILE",
		.type = OPTION_TEXT,
		.offset = offsetof(struct scheduler_config, kubeconfig),
		.help = "how to reach the API server; without it $KUBECONFIG, "
			"then the pod's own service account, then "
			"~/.kube/config" },
	{ .name = "scheduler-name",
		.placeholder = "NAME",
		.type = OPTION_TEXT,
		.offset = offsetof(struct scheduler_config, scheduler_name),
		.fallback = "plimsoll-scheduler",
		.help = "pods with this spec.schedulerName are placed" },
	{ .name = "aggregator",
		.placeholder = "URL",
		.type = OPTION_LIST,
		.offset = offsetof(struct scheduler_config, aggregators),
		.help = "where load comes from, tcp://HOST:7473 or "
			"tls+tcp://HOST:7473; may be given several times; "
			"without it nodes are scored by requests alone" },
	DIAL_OPTION_ROWS(struct scheduler_config, dial),
	{ .name = "policy",
		.placeholder = "NAME",
		.type = OPTION_TEXT,
		.offset = offsetof(struct scheduler_config, policy),
		.fallback = "real-load",
		.help = "how nodes are scored: real-load, kube-scheduler, "
			"kube-scheduler-1.21, target-load-packing, "
			"load-variation-risk or low-risk-overcommit" },
	{ .name = "http",
		.placeholder = "HOST:PORT",
		.type = OPTION_TEXT,
		.offset = offsetof(struct scheduler_config, http),
		.fallback = "0.0.0.0:7475",
		.help = "listener for /healthz, /readyz, /metrics and "
			"/extender" },
	{ .name = "http-tls-cert",
		.placeholder = "FILE",
		.type = OPTION_TEXT,
		.offset = offsetof(struct scheduler_config, http_tls.cert),
		.help = "certificate of that listener, which then speaks "
			"HTTPS only" },
	{ .name = "http-tls-key",
		.placeholder = "FILE",
		.type = OPTION_TEXT,
		.offset = offsetof(struct scheduler_config, http_tls.key),
		.help = "its key" },
	{ .name = "leader-elect",
		.type = OPTION_BOOL,
		.offset = offsetof(struct scheduler_config, leader_elect),
		.fallback = "true",
		.help = "place pods only while holding a Lease, so that "
			"replicas do not get in each other's way" },
	{ .name = "leader-elect-resource-namespace",
		.placeholder = "NAMESPACE",
		.type = OPTION_TEXT,
		.offset = offsetof(struct scheduler_config, lease_namespace),
		.help = "where the Lease lies; without it the namespace of "
			"the service account or kubeconfig" },
	{ .name = "leader-elect-resource-name",
		.placeholder = "NAME",
		.type = OPTION_TEXT,
		.offset = offsetof(struct scheduler_config, lease_name),
		.help = "its name; without it that of --scheduler-name" },
	OPTIONS_LOG_ROWS(struct scheduler_config, log_format, log_level),
	{ 0 },
};

static const struct option score_options[] = {
	{ .name = "in",
		.placeholder = "FILE",
		.type = OPTION_TEXT,
		.offset = offsetof(struct score_config, input),
		.help = "the pod, the nodes and their load as JSON; - is "
			"standard input" },
	{ 0 },
};

static const struct option simulate_options[] = {
	{ .name = "scenario",
		.placeholder = "FILE",
		.type = OPTION_TEXT,
		.offset = offsetof(struct simulate_config, scenario),
		.help = "nodes and VMs with what they use at each step; - is "
			"standard input" },
	{ .name = "recorded",
		.placeholder = "FILE",
		.type = OPTION_TEXT,
		.offset = offsetof(struct simulate_config, recorded),
		.help = "instead: what plimsoll-aggregator export wrote; needs "
			"--objects" },
	{ .name = "objects",
		.placeholder = "FILE",
		.type = OPTION_TEXT,
		.offset = offsetof(struct simulate_config, objects),
		.help = "what kubectl get nodes,pods -A -o json wrote: how "
			"large the recorded nodes and VMs are" },
	{ .name = "policy",
		.placeholder = "NAME",
		.type = OPTION_LIST,
		.offset = offsetof(struct simulate_config, policies),
		.help = "how nodes are scored; may be given several times; "
			"without it real-load and kube-scheduler" },
	{ .name = "json",
		.type = OPTION_BOOL,
		.offset = offsetof(struct simulate_config, json),
		.fallback = "false",
		.help = "print one JSON object instead of a table" },
	{ .name = "placements",
		.placeholder = "FILE",
		.type = OPTION_TEXT,
		.offset = offsetof(struct simulate_config, placements),
		.help = "write each decision there, a JSON object a line" },
	{ .name = "svg",
		.placeholder = "FILE",
		.type = OPTION_TEXT,
		.offset = offsetof(struct simulate_config, svg),
		.help = "draw the load of all nodes over the day there" },
	{ 0 },
};

const struct options_program scheduler_program = {
	.name = "plimsoll-scheduler",
	.summary = "places virtual machines by how loaded nodes really are",
	.usage = "[score|simulate] [flags]",
	.table = scheduler_options,
};

const struct options_program score_program = {
	.name = "plimsoll-scheduler score",
	.summary = "prints how each node would be judged, as JSON",
	.usage = "--in FILE",
	.table = score_options,
};

const struct options_program simulate_program = {
	.name = "plimsoll-scheduler simulate",
	.summary = "plays a day of VMs in virtual time, as policies place them",
	.usage = "--scenario FILE [--policy NAME]... | --recorded FILE "
		 "--objects "
		 "FILE",
	.table = simulate_options,
};

int scheduler_config_check(const struct scheduler_config *config,
	struct error *err)
{
	if ((config->http_tls.cert == NULL) != (config->http_tls.key == NULL)) {
		return error_set(err, -EINVAL,
			"--http-tls-cert and --http-tls-key go together: one "
			"of them is missing");
	}
	return dial_check(&config->dial, &config->aggregators, err);
}

int simulate_config_check(const struct simulate_config *config,
	struct error *err)
{
	bool is_recorded = config->recorded != NULL;

	if (config->scenario == NULL && !is_recorded) {
		return error_set(err, -EINVAL,
			"--scenario is missing, or --recorded");
	}
	if (config->scenario != NULL && is_recorded) {
		return error_set(err, -EINVAL,
			"--scenario and --recorded are two ways to say the "
			"same: give one");
	}
	if (is_recorded != (config->objects != NULL)) {
		return error_set(err, -EINVAL,
			"--recorded and --objects go together: one of them is "
			"missing");
	}
	if (is_recorded && strcmp(config->recorded, "-") == 0 &&
		strcmp(config->objects, "-") == 0) {
		return error_set(err, -EINVAL,
			"--recorded and --objects cannot both be standard "
			"input");
	}
	return 0;
}
