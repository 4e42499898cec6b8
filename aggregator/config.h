/* The aggregator's flags. A test compares docs/configuration.md with them. */
#pragma once

#include "aggregator/remote_read/remote_read.h"
#include "aggregator/remote_write/target.h"
#include "aggregator/store/store.h"
#include "auth/auth_mode.h"
#include "lib/options.h"
#include "lib/tls/tls.h"

#include <stdbool.h>
#include <stdint.h>

struct aggregator_config {
	const char *listen, *http, *health;
	struct tls_files tls;	   /* of listen */
	struct tls_files http_tls; /* of http; without a ca */
	const char *api;	   /* NULL: off */
	struct tls_files api_tls;  /* of api; without a ca */
	int wire_auth, http_auth;  /* enum auth_mode */
	const char *kubeconfig;	   /* NULL: see kube/config.h */
	const char *db;
	uint64_t retention_us[STORE_TIERS], retention_decisions_us;
	uint64_t max_db_bytes, compact_us, forget_us;
	int64_t metrics_vms;
	struct target_config remote;
	struct remote_read_config remote_read;
	int log_format, log_level;
};

extern const struct options_program aggregator_options;

/* Checks combinations of flags. -EINVAL: the sentence says what is wrong. */
must_check int aggregator_config_check(const struct aggregator_config *config,
	struct error *err);

/* True: the aggregator authenticates or authorizes clients at the API
 * server. */
bool aggregator_config_needs_api(const struct aggregator_config *config);

/* True: the aggregator reads the names of VMs from the API server. A kubeconfig
 * in the user's home folder does not count. */
bool aggregator_config_has_api(const struct aggregator_config *config,
	bool is_in_pod);

struct aggregator_ports {
	uint16_t listen, http, health; /* as bound */
};

/* Logs on which addresses the aggregator listens. */
void aggregator_config_log(const struct aggregator_config *config,
	const struct aggregator_ports *ports);
