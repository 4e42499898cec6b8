/* The agent's configuration from flags and environment variables. */
#pragma once

#include "lib/error.h"
#include "lib/options.h"
#include "lib/tls/credentials.h"
#include "proto/report.h"

#include <stdbool.h>
#include <stdint.h>

struct agent_config {
	const char
		*node_name; /* NULL until agent_config_check(): the host name */
	struct option_list aggregators;
	struct credentials credentials;
	uint64_t interval_us;
	const char *proc_root, *sys_root, *cgroup_root, *dev_root;
	int kvm_level; /* enum kvm_level */
	int64_t ring_reports;
	const char *spool; /* NULL: none */
	uint64_t spool_max_bytes;
	bool once, check;
	const char *health; /* NULL: no listener */
	int log_format;	    /* enum log_format */
	int log_level;	    /* enum log_level */
	char host_name[REPORT_NODE_MAX];
};

/* The flags: for the parser, --help and the docs. */
extern const struct options_program agent_options;

/* Checks the flags that depend on each other, and sets the node name if none is
 * given. -EINVAL. */
must_check int agent_config_check(struct agent_config *config,
	struct error *err);
