/* The aggregator's options. */
#pragma once

#include "aggregator/remote_write/target.h"
#include "aggregator/store/store.h"
#include "lib/options.h"
#include "lib/tls.h"

#include <stdbool.h>
#include <stdint.h>

/* Who is asked whether a peer may do what it wants. */
enum auth { AUTH_NONE, AUTH_KUBERNETES };

struct config {
	const char *listen, *http, *health;
	struct tls_files tls;	   /* of listen */
	struct tls_files http_tls; /* of http; without a ca */
	int wire_auth, http_auth;  /* enum auth */
	const char *kubeconfig;	   /* NULL: see kube/config.h */
	const char *db;
	uint64_t retention_us[STORE_TIERS], retention_decisions_us;
	uint64_t max_db_bytes, compact_us;
	int64_t metrics_vms;
	struct remote_config remote;
	int log_format, log_level;
};

extern const struct options_program aggregator_program;

/* `backup` */
struct backup_config {
	const char *db, *to;
};

extern const struct options_program backup_program;

/* `export` */
struct export_config {
	const char *db;
	const char *from, *to; /* NULL: not given */
	uint64_t step_us;
};

extern const struct options_program export_program;

/* What one flag alone cannot tell. -EINVAL: one sentence says what is wrong. */
must_check int config_check(const struct config *config, struct error *err);

/* Whether the API server has to be asked. */
bool config_needs_api(const struct config *config);

/* Whether there is one to ask for the names of VMs. A kubeconfig that happens
 * to lie around in somebody's home is not meant for that. */
bool config_has_api(const struct config *config, bool is_in_pod);
