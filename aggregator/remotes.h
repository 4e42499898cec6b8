/* Opens what talks to a time series engine, where flags name one. */
#pragma once

#include "lib/error.h"

#include <uv.h>

struct aggregator_config;
struct profile_cache;
struct remote_read;
struct remote_write;
struct store;
struct target_config;

/* Leaves *out as it is without --remote-write. See remote_write_new(). */
must_check int remotes_open_write(struct remote_write **out, uv_loop_t *loop,
	struct store *store, const struct target_config *config,
	struct error *err);

/* Leaves *out as it is without --remote-read. See remote_read_new(). */
must_check int remotes_open_read(struct remote_read **out, uv_loop_t *loop,
	const struct aggregator_config *config, struct error *err);

/* Profiles from the store, and from remote read unless remote is NULL. */
struct profile_cache *remotes_profiles_new(struct remote_read *remote,
	struct store *store);
