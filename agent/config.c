#include "agent/config.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/memory.h"

#define ROW(member_, ...) OPTION_ROW(struct agent_config, member_, __VA_ARGS__)

static const struct option table[] = {
	ROW(node_name, "node-name", OPTION_TEXT, "NAME",
		.help = "name of this node in Kubernetes; the host name if not "
			"given",
		.extra_env = "NODE_NAME"),
	ROW(aggregators, "aggregator", OPTION_LIST, "URL",
		.help = "aggregator to send reports to, as tcp://HOST:PORT or "
			"tls+tcp://HOST:PORT; may be repeated"),
	CREDENTIALS_OPTION_ROWS(struct agent_config, credentials),
	ROW(interval_us, "interval", OPTION_DURATION, "DURATION",
		.fallback = "2s", .min = 1e5, .max = 60e6,
		.help = "time between two reports"),
	ROW(proc_root, "proc-root", OPTION_TEXT, "DIR", .fallback = "/proc",
		.help = "the node's /proc"),
	ROW(sys_root, "sys-root", OPTION_TEXT, "DIR", .fallback = "/sys",
		.help = "the node's /sys"),
	ROW(cgroup_root, "cgroup-root", OPTION_TEXT, "DIR",
		.fallback = "/sys/fs/cgroup", .help = "the node's cgroup tree"),
	ROW(dev_root, "dev-root", OPTION_TEXT, "DIR", .fallback = "/dev",
		.help = "the node's /dev"),
	ROW(kvm_level, "kvm-probe", OPTION_CHOICE, "LEVEL", .fallback = "run",
		.choices = "off stat open vm run",
		.help = "how thoroughly KVM is tested: off, stat (the device "
			"exists), open, vm (create a virtual machine) or run "
			"(run it)"),
	ROW(ring_reports, "ring-reports", OPTION_INTEGER, "COUNT",
		.fallback = "900", .min = 1, .max = 100000,
		.help = "reports kept in memory while an aggregator cannot "
			"store them"),
	ROW(spool, "spool", OPTION_TEXT, "DIR",
		.help = "directory for reports that overflow memory or are "
			"unsent at shutdown; created if missing"),
	ROW(spool_max_bytes, "spool-max-bytes", OPTION_BYTES, "SIZE",
		.fallback = "64MiB", .min = 4 << 20, .max = 1e12,
		.help = "maximum size of the spool; above it the oldest "
			"reports are dropped"),
	ROW(health, "health", OPTION_ADDRESS, "HOST:PORT",
		.help = "listener of /healthz, /livez and /readyz, which say "
			"whether the agent takes samples"),
	ROW(check, "check", OPTION_BOOL, NULL,
		.help = "ask the agent running for this node whether it takes "
			"samples; exit status 0 if it does"),
	ROW(once, "once", OPTION_BOOL, NULL,
		.help = "print one report as JSON and exit"),
	OPTIONS_LOG_ROWS(struct agent_config, log_format, log_level),
	{ 0 },
};

const struct options_program agent_options = {
	.name = "plimsoll-agent",
	.summary = "measures the load of a node and its virtual machines",
	.usage = "--aggregator tcp://HOST:7473 [flags]",
	.table = table,
};

/* kubelet registers its node under the host name in lower case. */
static int use_host_name(struct agent_config *config, struct error *err)
{
	char *name = config->host_name;

	if (gethostname(name, sizeof(config->host_name) - 1) != 0) {
		return error_set(err, -EINVAL,
			"cannot read the host name; use --node-name");
	}
	for (char *c = name; *c != '\0'; c++) {
		*c = (char)tolower((unsigned char)*c);
	}
	config->node_name = name;
	return 0;
}

static int check_name(const char *name, struct error *err)
{
	size_t len = strlen(name);

	if (len == 0 || len >= REPORT_NODE_MAX) {
		return error_set(err, -EINVAL,
			"--node-name must have between 1 and %d characters",
			REPORT_NODE_MAX - 1);
	}
	for (size_t i = 0; i < len; i++) {
		if (name[i] <= ' ' || name[i] > '~') {
			return error_set(err, -EINVAL,
				"--node-name '%s' is not a valid node name",
				name);
		}
	}
	return 0;
}

int agent_config_check(struct agent_config *config, struct error *err)
{
	int r = 0;

	if (config->node_name == NULL) {
		r = use_host_name(config, err);
	}
	if (r == 0) {
		r = check_name(config->node_name, err);
	}
	if (r == 0 && config->aggregators.count == 0 && !config->once &&
		!config->check) {
		r = error_set(err, -EINVAL,
			"--aggregator is required, or use --once");
	}
	return r < 0 ? r
		     : credentials_check(&config->credentials,
			       &config->aggregators, err);
}
