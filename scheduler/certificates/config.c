#include "scheduler/certificates/config.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* DNS's own limit, and that of the names of objects. */
enum { NAME_MAX_CHARS = 253 };

#define ROW(member_, ...)                                                      \
	OPTION_ROW(struct certificates_config, member_, __VA_ARGS__)

static const struct option table[] = {
	ROW(kubeconfig, "kubeconfig", OPTION_TEXT, "FILE",
		.help = "kubeconfig for the API server; default: $KUBECONFIG, "
			"then the pod's service account, then "
			"~/.kube/config"),
	ROW(namespace_name, "namespace", OPTION_TEXT, "NAMESPACE",
		.fallback = "plimsoll",
		.help = "namespace of the aggregator and the scheduler"),
	ROW(agents_namespace, "agents-namespace", OPTION_TEXT, "NAMESPACE",
		.fallback = "plimsoll-agents",
		.help = "namespace of the agents"),
	ROW(days, "days", OPTION_INTEGER, "DAYS", .fallback = "365", .min = 1,
		.max = 1825, .help = "lifetime of the certificates"),
	ROW(renew_days, "renew-days", OPTION_INTEGER, "DAYS", .fallback = "0",
		.min = 0, .max = 1825,
		.help = "keeps certificates that are valid for more days than "
			"these; 0: renews all of them"),
	ROW(dns_names, "dns-name", OPTION_LIST, "NAME",
		.help = "further DNS name of the servers; may be repeated"),
	ROW(webhook, "webhook-configuration", OPTION_TEXT, "NAME",
		.help = "mutating webhook configuration that gets the servers' "
			"authority; default: none"),
	ROW(api_service, "api-service", OPTION_TEXT, "NAME",
		.help = "APIService that gets the servers' authority; "
			"default: none"),
	ROW(ca_config_map, "ca-config-map", OPTION_TEXT, "NAME",
		.help = "ConfigMap of --namespace that gets the servers' "
			"authority as ca.crt; default: none"),
	OPTIONS_LOG_ROWS(struct certificates_config, log_format, log_level),
	{ 0 },
};

const struct options_program certificates_options = {
	.name = "plimsoll-scheduler certificates",
	.summary = "makes the certificates of an installation, in its Secrets",
	.usage = "[flags]",
	.table = table,
};

/* A name of DNS, perhaps with a wildcard. The names become parts of paths. */
static bool is_name(const char *text)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789-.";
	const char *start = strncmp(text, "*.", 2) == 0 ? text + 2 : text;
	size_t len = strlen(start);

	return len > 0 && strlen(text) <= NAME_MAX_CHARS &&
		strspn(start, allowed) == len && *start != '.';
}

/* Clients take a name whose last label is a number for an address, and look for
 * an address in the certificate. */
static bool is_address(const char *name)
{
	const char *dot = strrchr(name, '.');
	const char *last = dot == NULL ? name : dot + 1;

	return last[strspn(last, "0123456789")] == '\0';
}

static int check_name(const char *flag, const char *text, bool is_dns_name,
	struct error *err)
{
	if (!is_name(text) || (!is_dns_name && *text == '*')) {
		return error_set(err, -EINVAL, "%s: '%.100s' is not a %s", flag,
			text, is_dns_name ? "DNS name" : "name of an object");
	}
	if (is_dns_name && is_address(text)) {
		return error_set(err, -EINVAL,
			"%s: '%.100s' is an address, not a DNS name", flag,
			text);
	}
	return 0;
}

int certificates_config_check(const struct certificates_config *config,
	struct error *err)
{
	int r = check_name("--namespace", config->namespace_name, false, err);

	if (r == 0) {
		r = check_name("--agents-namespace", config->agents_namespace,
			false, err);
	}
	if (r == 0 && config->webhook != NULL) {
		r = check_name("--webhook-configuration", config->webhook,
			false, err);
	}
	if (r == 0 && config->api_service != NULL) {
		r = check_name("--api-service", config->api_service, false,
			err);
	}
	if (r == 0 && config->ca_config_map != NULL) {
		r = check_name("--ca-config-map", config->ca_config_map, false,
			err);
	}
	for (size_t i = 0; r == 0 && i < config->dns_names.count; i++) {
		r = check_name("--dns-name", config->dns_names.items[i], true,
			err);
	}
	return r;
}
