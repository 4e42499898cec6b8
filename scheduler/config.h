/* The scheduler's flags. A test compares docs/configuration.md with them. */
#pragma once

#include "auth/auth_mode.h"
#include "lib/options.h"
#include "lib/tls/credentials.h"
#include "scheduler/mover/gate.h"
#include "scheduler/objects/behaviours.h"
#include "scheduler/rebalance/windows.h"
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
	int http_auth;		   /* enum auth_mode; of that listener */
	const char *webhook;	   /* NULL: no webhook */
	struct tls_files webhook_tls;
	const char *webhook_scheduler_name; /* NULL only before the check */
	bool leader_elect;
	const char *lease_namespace, *lease_name; /* NULL: see leader.h */
	int rebalance;				  /* enum mover_mode */
	const char *rebalance_price_text;
	double rebalance_price;		    /* from the text */
	int64_t rebalance_max_per_hour;	    /* 0: see rebalance/budget.h */
	const char *rebalance_windows_text; /* "": always */
	struct windows rebalance_windows;   /* from the text */
	int make_room;			    /* enum mover_mode */
	uint64_t make_room_timeout_us;
	uint64_t other_migrations_timeout_us;
	struct option_list behaviour_texts;
	struct behaviour_overrides behaviours; /* from the texts */
	int log_format, log_level;
};

extern const struct options_program scheduler_options;

/* Running VMs may be moved, or their moves recommended. */
bool scheduler_config_moves(const struct scheduler_config *config);

/* Checks flags against each other and finds the policy. -EINVAL: the error
 * names them. */
must_check int scheduler_config_check(struct scheduler_config *config,
	struct error *err);
