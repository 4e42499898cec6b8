#include "aggregator/remotes.h"

#include "aggregator/config.h"
#include "aggregator/query/profile_cache.h"
#include "aggregator/remote_read/remote_profile.h"
#include "aggregator/remote_read/remote_read.h"
#include "aggregator/remote_write/remote_write.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <string.h>

int remotes_open_write(struct remote_write **out, uv_loop_t *loop,
	struct store *store, const struct target_config *config,
	struct error *err)
{
	const char *url = config->http.url;
	scoped_free char *shown = NULL;

	if (url == NULL) {
		return 0;
	}
	/* The query of the URL may hold a secret. */
	shown = xstrndup(url, strcspn(url, "?"));
	log_info("remote write is on", log_str("url", shown), LOG_END);
	return remote_write_new(out, loop, store, config, err);
}

int remotes_open_read(struct remote_read **out, uv_loop_t *loop,
	const struct aggregator_config *config, struct error *err)
{
	const char *url = config->remote_read.http.url;

	if (url == NULL) {
		return 0;
	}
	log_info("remote read is on", log_str("url", url), LOG_END);
	return remote_read_new(out, loop, &config->remote_read,
		&config->remote.labels, err);
}

struct profile_cache *remotes_profiles_new(struct remote_read *remote,
	struct store *store)
{
	struct profile_source source;

	if (remote == NULL) {
		return profile_cache_new(store, NULL);
	}
	source = remote_profile_source(remote);
	return profile_cache_new(store, &source);
}
