/* The scheduler's flags. A test compares docs/configuration.md with them. */
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
	struct credentials credentials;
	const char *policy;
	struct policy scoring;	   /* from policy; zeroed is real-load */
	const char *http;	   /* NULL: no listener */
	struct tls_files http_tls; /* of that listener; no CA */
	bool leader_elect;
	const char *lease_namespace, *lease_name; /* NULL: see leader.h */
	int log_format, log_level;
};

extern const struct options_program scheduler_options;

/* Checks flags against each other and finds the policy. -EINVAL: the error
 * names them. */
must_check int scheduler_config_check(struct scheduler_config *config,
	struct error *err);
