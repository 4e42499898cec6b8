#include "agent/config.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/memory.h"

#define AT(member) offsetof(struct agent_config, member)

static const struct option table[] = {
	{ "node-name", "NAME", OPTION_TEXT, AT(node_name), NULL,
		"name of this node in Kubernetes; the host's name if not given",
		0, 0, NULL, "NODE_NAME" },
	{ "aggregator", "URL", OPTION_LIST, AT(aggregators), NULL,
		"where reports go, as tcp://HOST:PORT or tls+tcp://HOST:PORT; "
		"may be repeated",
		0, 0, NULL, NULL },
	DIAL_OPTION_ROWS(struct agent_config, dial),
	{ "interval", "DURATION", OPTION_DURATION, AT(interval_us), "2s",
		"time between two reports", 1e5, 60e6, NULL, NULL },
	{ "proc-root", "DIR", OPTION_TEXT, AT(proc_root), "/proc",
		"the node's /proc", 0, 0, NULL, NULL },
	{ "sys-root", "DIR", OPTION_TEXT, AT(sys_root), "/sys",
		"the node's /sys", 0, 0, NULL, NULL },
	{ "cgroup-root", "DIR", OPTION_TEXT, AT(cgroup_root), "/sys/fs/cgroup",
		"the node's cgroup tree", 0, 0, NULL, NULL },
	{ "dev-root", "DIR", OPTION_TEXT, AT(dev_root), "/dev",
		"the node's /dev", 0, 0, NULL, NULL },
	{ "kvm-probe", "LEVEL", OPTION_CHOICE, AT(kvm_level), "run",
		"how far KVM is tried: off, stat (the device is there), open, "
		"vm (make a machine) or run (let it run)",
		0, 0, "off stat open vm run", NULL },
	{ "ring-reports", "COUNT", OPTION_INTEGER, AT(ring_reports), "900",
		"reports kept while an aggregator cannot store them", 1, 100000,
		NULL, NULL },
	{ "spool", "DIR", OPTION_TEXT, AT(spool), NULL,
		"where reports go that the ring cannot hold and those that are "
		"not stored at the end; made if it is not there",
		0, 0, NULL, NULL },
	{ "spool-max-bytes", "SIZE", OPTION_BYTES, AT(spool_max_bytes), "64MiB",
		"what the spool may take; beyond it the oldest reports are "
		"dropped",
		4 << 20, 1e12, NULL, NULL },
	{ "check", NULL, OPTION_BOOL, AT(check), NULL,
		"ask the agent that runs for this node whether it takes "
		"samples: exit status 0 if so; for probes",
		0, 0, NULL, NULL },
	{ "once", NULL, OPTION_BOOL, AT(once), NULL,
		"print one report as JSON and exit", 0, 0, NULL, NULL },
	OPTIONS_LOG_ROWS(struct agent_config, log_format, log_level),
	{ 0 },
};

const struct options_program agent_program = {
	.name = "plimsoll-agent",
	.summary = "measures how loaded a node and its virtual machines are",
	.usage = "--aggregator tcp://HOST:7473 [flags]",
	.table = table,
};

/* kubelet registers its node by the host's name in lower case. */
static int take_host_name(struct agent_config *config, struct error *err)
{
	char *name = config->host_name;

	if (gethostname(name, sizeof(config->host_name) - 1) != 0) {
		return error_set(err, -EINVAL,
			"the host's name cannot be read; use --node-name");
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
			"--node-name: it has between 1 and %d characters",
			REPORT_NODE_MAX - 1);
	}
	for (size_t i = 0; i < len; i++) {
		if (name[i] <= ' ' || name[i] > '~') {
			return error_set(err, -EINVAL,
				"--node-name: no node is called '%s'", name);
		}
	}
	return 0;
}

int config_check(struct agent_config *config, struct error *err)
{
	int r = 0;

	if (config->node_name == NULL) {
		r = take_host_name(config, err);
	}
	if (r == 0) {
		r = check_name(config->node_name, err);
	}
	if (r == 0 && config->aggregators.count == 0 && !config->once &&
		!config->check) {
		r = error_set(err, -EINVAL,
			"--aggregator is missing: say where reports go, or "
			"use --once");
	}
	return r < 0 ? r : dial_check(&config->dial, &config->aggregators, err);
}
