/* The agent's configuration: what its flags and variables say. */
#pragma once

#include "lib/credentials.h"
#include "lib/error.h"
#include "lib/options.h"
#include "proto/report.h"

#include <stdbool.h>
#include <stdint.h>

struct agent_config {
	const char *node_name; /* NULL until config_check(): the host's name */
	struct option_list aggregators;
	struct dial_config dial;
	uint64_t interval_us;
	const char *proc_root, *sys_root, *cgroup_root, *dev_root;
	int kvm_level; /* enum kvm_level */
	int64_t ring_reports;
	const char *spool; /* NULL: none */
	uint64_t spool_max_bytes;
	bool once, check;
	int log_format; /* enum log_format */
	int log_level;	/* enum log_level */
	char host_name[REPORT_NODE_MAX];
};

/* The flags, for the parser, the help and the docs. */
extern const struct options_program agent_program;

/* What one flag alone cannot tell, and the node's name where none is given.
 * -EINVAL: one sentence says what is wrong. */
must_check int config_check(struct agent_config *config, struct error *err);
