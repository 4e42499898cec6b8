#include "scheduler/config.h"

#include "scheduler/rebalance/budget.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PRICE_MAX 1000.0
/* A DNS subdomain, as names of schedulers are. */
enum { NAME_MAX_BYTES = 253 };

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
	ROW(http, "http", OPTION_ADDRESS, "HOST:PORT", .fallback = ":7475",
		.help = "listener for /healthz, /livez, /readyz, /metrics, "
			"/v1/rebalance, /v1/room and /extender"),
	ROW(http_tls.cert, "http-tls-cert", OPTION_TEXT, "FILE",
		.help = "certificate of the --http listener, which then "
			"serves HTTPS only"),
	ROW(http_tls.key, "http-tls-key", OPTION_TEXT, "FILE",
		.help = "private key of --http-tls-cert"),
	ROW(http_auth, "http-auth", OPTION_CHOICE, "MODE", .fallback = "none",
		.help = "how HTTP requests are authenticated: none, or "
			"kubernetes (by bearer token; needs --http-tls-cert "
			"or a loopback address); /healthz, /livez and /readyz "
			"need none",
		.choices = auth_mode_choices),
	ROW(webhook, "webhook", OPTION_ADDRESS, "HOST:PORT",
		.help = "HTTPS listener that the API server asks for the "
			"scheduler's name of new VMs, at /mutate-pods; "
			"default: none"),
	ROW(webhook_tls.cert, "webhook-tls-cert", OPTION_TEXT, "FILE",
		.help = "certificate of the --webhook listener"),
	ROW(webhook_tls.key, "webhook-tls-key", OPTION_TEXT, "FILE",
		.help = "private key of --webhook-tls-cert"),
	ROW(webhook_scheduler_name, "webhook-scheduler-name", OPTION_TEXT,
		"NAME",
		.help = "the name that the webhook sets; default: "
			"--scheduler-name"),
	ROW(leader_elect, "leader-elect", OPTION_BOOL, NULL, .fallback = "true",
		.help = "schedule pods only while holding a Lease, so that "
			"only one replica is active"),
	ROW(lease_namespace, "leader-elect-resource-namespace", OPTION_TEXT,
		"NAMESPACE",
		.help = "namespace of the Lease; default: that of the service "
			"account or kubeconfig"),
	ROW(lease_name, "leader-elect-resource-name", OPTION_TEXT, "NAME",
		.help = "name of the Lease; default: --scheduler-name"),
	ROW(rebalance, "rebalance", OPTION_CHOICE, "MODE",
		.fallback = "recommend", .choices = "off recommend automatic",
		.help = "what to do when moving a VM would reduce CPU "
			"shortage: off, recommend or automatic"),
	ROW(rebalance_price_text, "rebalance-price", OPTION_TEXT, "CORE-STEPS",
		.fallback = "0.15",
		.help = "least saving for a move, in cores times 5 minutes of "
			"expected shortage within the next hour"),
	ROW(rebalance_max_per_hour, "rebalance-max-per-hour", OPTION_INTEGER,
		"COUNT", .fallback = "0", .min = 0, .max = BUDGET_HOUR_MAX,
		.help = "moves that may begin within an hour; 0: one for each "
			"100 VMs, at least 5"),
	ROW(rebalance_windows_text, "rebalance-windows", OPTION_TEXT, "TIMES",
		.help = "times of the week, in UTC, at which VMs may be moved, "
			"such as 'Mon-Fri 22:00-05:00,Sat,Sun'; default: "
			"always"),
	ROW(make_room, "make-room", OPTION_CHOICE, "MODE",
		.fallback = "recommend", .choices = "off recommend automatic",
		.help = "what is done for a pod that would fit if VMs of lower "
			"priority moved: off, recommend or automatic"),
	ROW(make_room_timeout_us, "make-room-timeout", OPTION_DURATION,
		"DURATION", .fallback = "10m", .min = 60000000,
		.max = INT64_C(86400000000),
		.help = "give up making room for a pod after this time"),
	ROW(other_migrations_timeout_us, "other-migrations-timeout",
		OPTION_DURATION, "DURATION", .fallback = "10m", .min = 60000000,
		.max = INT64_C(86400000000),
		.help = "moves leave a node alone for so long for a migration "
			"or an eviction that somebody else began"),
	ROW(behaviour_texts, "kubernetes-behaviour", OPTION_LIST, "NAME=on|off",
		.help = "decide in this respect as kube-scheduler does with "
			"another feature gate than the default of the API "
			"server's version; may be repeated"),
	OPTIONS_LOG_ROWS(struct scheduler_config, log_format, log_level),
	{ 0 },
};

const struct options_program scheduler_options = {
	.name = "plimsoll-scheduler",
	.summary = "schedules virtual machines by the real load of nodes",
	.usage = "[flags] | SUBCOMMAND [flags]",
	.table = table,
};

bool scheduler_config_moves(const struct scheduler_config *config)
{
	return config->rebalance != MOVER_OFF || config->make_room != MOVER_OFF;
}

/* A plain decimal number. */
static bool read_price(double *out, const char *text)
{
	char *end;

	if (!isdigit((unsigned char)*text) ||
		text[strspn(text, "0123456789.")] != '\0') {
		return false;
	}
	*out = strtod(text, &end);
	return *end == '\0' && *out <= PRICE_MAX;
}

static int check_rebalance(struct scheduler_config *config, struct error *err)
{
	const char *price = config->rebalance_price_text;
	int r;

	if (!read_price(&config->rebalance_price, price)) {
		return error_set(err, -EINVAL,
			"--rebalance-price: '%.100s' is not a number from 0 to "
			"%g",
			price, PRICE_MAX);
	}
	if (config->rebalance_windows_text == NULL) {
		config->rebalance_windows_text = "";
	}
	r = windows_parse(&config->rebalance_windows,
		config->rebalance_windows_text, err);
	return r < 0 ? error_wrap(err, r, "--rebalance-windows") : 0;
}

/* The API server calls no webhook without TLS. */
static int check_webhook(struct scheduler_config *config, struct error *err)
{
	const struct tls_files *tls = &config->webhook_tls;

	if (config->webhook != NULL &&
		(tls->cert == NULL || tls->key == NULL)) {
		return error_set(err, -EINVAL,
			"--webhook requires --webhook-tls-cert and "
			"--webhook-tls-key");
	}
	if (config->webhook == NULL &&
		(tls->cert != NULL || tls->key != NULL)) {
		return error_set(err, -EINVAL,
			"--webhook-tls-cert and --webhook-tls-key require "
			"--webhook");
	}
	if (config->webhook_scheduler_name == NULL) {
		config->webhook_scheduler_name = config->scheduler_name;
	}
	if (strlen(config->webhook_scheduler_name) > NAME_MAX_BYTES) {
		return error_set(err, -EINVAL,
			"the name that the webhook sets has more than %d "
			"characters",
			NAME_MAX_BYTES);
	}
	return 0;
}

static int check_behaviours(struct scheduler_config *config, struct error *err)
{
	const struct option_list *texts = &config->behaviour_texts;
	int r = 0;

	for (size_t i = 0; i < texts->count && r == 0; i++) {
		r = behaviours_override(&config->behaviours, texts->items[i],
			err);
	}
	return r < 0 ? error_wrap(err, r, "--kubernetes-behaviour") : 0;
}

int scheduler_config_check(struct scheduler_config *config, struct error *err)
{
	int r = policy_find(&config->scoring, config->policy, NULL, err);

	if (r < 0) {
		return error_wrap(err, r, "--policy");
	}
	r = auth_mode_check_http(config->http, &config->http_tls,
		config->http_auth, err);
	if (r == 0) {
		r = check_webhook(config, err);
	}
	if (r == 0) {
		r = check_behaviours(config, err);
	}
	if (r == 0) {
		r = check_rebalance(config, err);
	}
	if (r < 0) {
		return r;
	}
	return credentials_check(&config->credentials, &config->aggregators,
		err);
}
