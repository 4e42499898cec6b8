#include "aggregator/query/profile_cache.h"

#include "aggregator/query/profile_builder.h"
#include "aggregator/store/store.h"
#include "lib/clock.h"
#include "lib/memory.h"
#include "lib/query_cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The result of reading a profile. */
struct result {
	struct vm_profile profile;
	struct error error; /* code 0: there is a profile */
};

struct caller {
	profile_cache_done done;
	void *owner;
};

struct profile_cache {
	struct store *store;
	struct query_cache *queries;
};

/* On the reader's thread. */
static bool on_minute(void *owner, const struct store_rollup *rollup)
{
	profile_builder_add(query_data(owner), rollup->row);
	return true;
}

static void on_read(void *owner, const struct error *err)
{
	struct query *query = owner;
	struct profile_builder *builder = query_data(query);
	struct result *result = xcalloc(1, sizeof(*result));

	if (err != NULL) {
		result->error = *err;
	} else {
		profile_builder_fill(&result->profile, builder);
	}
	profile_builder_free(builder);
	/* Remembers no failure of the store: the next read may succeed. */
	query_settle(query, result,
		result->error.code == 0 ? PROFILE_CACHE_KEPT_US
			: result->error.code == -ENOENT
			? PROFILE_CACHE_UNKNOWN_US
			: 0,
		clock_monotonic_us());
}

static void start(void *owner, struct query *query)
{
	const struct profile_cache *profile_cache = owner;
	const struct profile_request *request = query_question(query);
	uint64_t now_ms = clock_wall_us() / 1000;
	struct profile_builder *builder = profile_builder_new(now_ms);
	struct store_read read = { .tier = STORE_1M,
		.from_ms = profile_builder_from_ms(builder),
		.to_ms = now_ms + 1,
		.rollup = on_minute,
		.done = on_read,
		.owner = query };
	struct error error;

	(void)snprintf(read.namespace, sizeof(read.namespace), "%s",
		request->namespace);
	(void)snprintf(read.name, sizeof(read.name), "%s", request->name);
	query_set_data(query, builder);
	if (store_query(profile_cache->store, &read, &error) < 0) {
		on_read(query, &error);
	}
}

static void on_settled(void *owner, const void *answer, const char *why)
{
	struct caller *caller = owner;
	const struct result *result = answer;
	struct error none;

	if (result == NULL) {
		(void)error_set(&none, -EBUSY, "%s", why);
		caller->done(caller->owner, NULL, &none);
	} else if (result->error.code != 0) {
		caller->done(caller->owner, NULL, &result->error);
	} else {
		caller->done(caller->owner, &result->profile, NULL);
	}
	free(caller);
}

void profile_cache_ask(struct profile_cache *profile_cache,
	const struct profile_request *request, profile_cache_done done,
	void *owner)
{
	struct caller *caller = xcalloc(1, sizeof(*caller));
	struct profile_request question = { .name = "" };

	/* Behind their NULs, equal names may differ. */
	(void)snprintf(question.namespace, sizeof(question.namespace), "%s",
		request->namespace);
	(void)snprintf(question.name, sizeof(question.name), "%s",
		request->name);
	caller->done = done;
	caller->owner = owner;
	query_cache_ask(profile_cache->queries, &question, sizeof(question),
		on_settled, caller, clock_monotonic_us());
}

struct profile_cache *profile_cache_new(struct store *store)
{
	struct profile_cache *profile_cache =
		xcalloc(1, sizeof(*profile_cache));

	profile_cache->store = store;
	profile_cache->queries =
		query_cache_new(&(const struct query_cache_options){
			.queries_max = PROFILE_CACHE_MAX,
			.running_max = PROFILE_CACHE_RUNNING,
			.start = start,
			.free_answer = free,
			.owner = profile_cache,
		});
	return profile_cache;
}

void profile_cache_free(struct profile_cache *profile_cache)
{
	if (profile_cache != NULL) {
		query_cache_free(profile_cache->queries);
		free(profile_cache);
	}
}
