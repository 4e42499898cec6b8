/* The scheduler's flags: docs/configuration.md is held against this table. */
#pragma once

#include "lib/credentials.h"
#include "lib/options.h"
#include "scheduler/score/policy.h"

#include <stdbool.h>
#include <stdint.h>

struct scheduler_config {
	const char *kubeconfig; /* NULL: see kube/config.h */
	const char *scheduler_name;
	struct option_list aggregators;
	struct dial_config dial;
	const char *policy;
	struct policy scoring;	   /* of that name; zeroed is real-load */
	const char *http;	   /* NULL: no listener */
	struct tls_files http_tls; /* of that listener; without a ca */
	bool leader_elect;
	const char *lease_namespace, *lease_name; /* NULL: see leader.h */
	int log_format, log_level;
};

struct score_config {
	const char *input;
};

struct simulate_config {
	const char *scenario;		/* or both of these: */
	const char *recorded, *objects; /* NULL: not given */
	struct option_list policies;	/* none: the usual two */
	bool json;
	const char *placements, *svg; /* NULL: not wanted */
};

extern const struct options_program scheduler_program;
/* The subcommands. */
extern const struct options_program score_program, simulate_program;

/* As scheduler_config_check(). */
must_check int simulate_config_check(const struct simulate_config *config,
	struct error *err);

/* What one flag alone cannot tell. -EINVAL: one sentence says what is wrong. */
must_check int scheduler_config_check(const struct scheduler_config *config,
	struct error *err);
