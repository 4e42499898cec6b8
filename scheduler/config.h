/* The scheduler's flags: docs/configuration.md is held against this table. */
#pragma once

#include "lib/options.h"

#include <stdint.h>

struct scheduler_config {
	const char *kubeconfig; /* NULL: see kube/config.h */
	const char *scheduler_name;
	struct option_list aggregators;
	const char *policy;
	const char *http; /* NULL: no listener */
	int log_format, log_level;
};

struct score_config {
	const char *input;
};

extern const struct options_program scheduler_program;
extern const struct options_program score_program; /* the subcommand */
