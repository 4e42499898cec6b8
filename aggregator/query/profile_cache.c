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
	struct profile_answer answer;
	struct error error; /* code 0: there is a profile */
};

struct caller {
	struct profile_cache *profile_cache;
	struct profile_request request;
	profile_cache_done done;
	void *owner;
	struct result stored; /* while the source is asked */
};

/* A profile that is being made. */
struct reading {
	struct profile_builder *builder;
	struct profile_cache *profile_cache;
	struct query *query;
	uint64_t now_ms;
	struct sources sources;
};

struct profile_cache {
	struct store *store;
	struct query_cache *queries; /* what the store has */
	struct profile_source source;
	struct query_cache *longer; /* with the source's minutes; or NULL */
	size_t open;		    /* questions in longer without an answer */
	uint64_t paused_until_us;   /* after a failure of the source */
	struct error failure;	    /* the last one */
};

static struct reading *reading_new(struct profile_cache *profile_cache,
	struct query *query)
{
	struct reading *reading = xcalloc(1, sizeof(*reading));

	reading->profile_cache = profile_cache;
	reading->query = query;
	reading->now_ms = clock_wall_us() / 1000;
	reading->builder = profile_builder_new(reading->now_ms);
	return reading;
}

/* Frees the reading. */
static struct result *result_of(struct reading *reading,
	const struct error *err)
{
	struct result *result = xcalloc(1, sizeof(*result));

	if (err == NULL) {
		profile_builder_fill(&result->answer.profile, reading->builder);
	} else {
		vm_profile_init(&result->answer.profile);
		result->error = *err;
	}
	result->answer.sources = reading->sources;
	profile_builder_free(reading->builder);
	free(reading);
	return result;
}

/* ---- the store ---- */

/* On the reader's thread. */
static bool on_minute(void *owner, const struct store_rollup *rollup)
{
	struct reading *reading = owner;

	profile_builder_add(reading->builder, rollup->row);
	return true;
}

static void read_store(struct reading *reading,
	void (*done)(void *owner, const struct error *err))
{
	const struct profile_request *request = query_question(reading->query);
	struct store_read read = { .tier = STORE_1M,
		.from_ms = profile_builder_from_ms(reading->builder),
		.to_ms = reading->now_ms + 1,
		.may_be_kept = true,
		.rollup = on_minute,
		.done = done,
		.owner = reading };
	struct error error;

	(void)snprintf(read.namespace, sizeof(read.namespace), "%s",
		request->namespace);
	(void)snprintf(read.name, sizeof(read.name), "%s", request->name);
	if (store_query(reading->profile_cache->store, &read, &error) < 0) {
		done(reading, &error);
	}
}

static void note_sources(struct reading *reading)
{
	struct sources *sources = &reading->sources;

	sources->is_known = reading->profile_cache->longer != NULL;
	sources->from_us = profile_builder_from_ms(reading->builder) * 1000;
	sources->joined_us = profile_builder_first_ms(reading->builder) * 1000;
	sources->to_us = reading->now_ms * 1000;
	if (sources->joined_us > sources->to_us) {
		sources->joined_us = sources->to_us;
	}
	if (sources->joined_us <
		sources->from_us + PROFILE_CACHE_LACKS_MS * 1000) {
		sources->joined_us = sources->from_us;
	}
}

static void on_read(void *owner, const struct error *err)
{
	struct reading *reading = owner;
	struct query *query = reading->query;
	struct result *result;

	note_sources(reading);
	result = result_of(reading, err);
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
	read_store(reading_new(owner, query), on_read);
}

/* ---- the source ---- */

static void settle_longer(struct reading *reading, const struct error *err,
	uint64_t kept_us)
{
	struct profile_cache *profile_cache = reading->profile_cache;
	struct query *query = reading->query;

	profile_cache->open--;
	query_settle(query, result_of(reading, err), kept_us,
		clock_monotonic_us());
}

static void on_filled(void *owner, size_t added, const struct error *err)
{
	struct reading *reading = owner;
	struct profile_cache *profile_cache = reading->profile_cache;
	struct error error;

	if (err != NULL && err->code != -ENOENT) {
		if (err->code != -EBUSY && err->code != -ECANCELED) {
			profile_cache->failure = *err;
			profile_cache->paused_until_us = clock_monotonic_us() +
				PROFILE_CACHE_SOURCE_FAILED_US;
		}
		settle_longer(reading, err, 0);
	} else if (added == 0) {
		(void)error_set(&error, -ENOENT, "no earlier minutes");
		settle_longer(reading, &error, PROFILE_CACHE_SOURCE_NOTHING_US);
	} else {
		settle_longer(reading, NULL, PROFILE_CACHE_SOURCE_KEPT_US);
	}
}

/* The store's minutes are read again: to keep those of each VM would take 300
 * KiB. */
static void on_read_again(void *owner, const struct error *err)
{
	struct reading *reading = owner;
	const struct profile_cache *profile_cache = reading->profile_cache;

	if (err != NULL && err->code != -ENOENT) {
		settle_longer(reading, err, 0);
		return;
	}
	note_sources(reading);
	if (clock_monotonic_us() < profile_cache->paused_until_us) {
		settle_longer(reading, &profile_cache->failure, 0);
		return;
	}
	profile_cache->source.fill(profile_cache->source.owner,
		query_question(reading->query), reading->builder, on_filled,
		reading);
}

static void start_longer(void *owner, struct query *query)
{
	struct reading *reading = reading_new(owner, query);
	struct error error;

	if (clock_monotonic_us() - query_asked_us(query) >
		PROFILE_CACHE_SOURCE_WAIT_US) {
		(void)error_set(&error, -EBUSY,
			"earlier questions take too long");
		settle_longer(reading, &error, 0);
		return;
	}
	read_store(reading, on_read_again);
}

/* ---- callers ---- */

/* Ends with what the store has; err: why there is no more, or NULL. */
static void end_with_stored(struct caller *caller, const struct error *err)
{
	struct result *stored = &caller->stored;

	if (err != NULL && err->code != -ENOENT) {
		stored->answer.sources.error = *err;
		if (stored->error.code == -ENOENT) {
			stored->error = *err;
		}
	}
	caller->done(caller->owner, &stored->answer,
		stored->error.code == 0 ? NULL : &stored->error);
	free(caller);
}

static void on_longer(void *owner, const void *answer, const char *why)
{
	struct caller *caller = owner;
	const struct result *result = answer;
	struct error error;

	if (result == NULL) {
		(void)error_set(&error, -EBUSY, "%s", why);
		end_with_stored(caller, &error);
	} else if (result->error.code != 0) {
		end_with_stored(caller, &result->error);
	} else {
		caller->done(caller->owner, &result->answer, NULL);
		free(caller);
	}
}

static void ask_source(struct caller *caller)
{
	struct profile_cache *profile_cache = caller->profile_cache;
	const struct profile_request *vm = &caller->request;
	uint64_t now_us = clock_monotonic_us();
	bool is_new = query_cache_find(profile_cache->longer, vm, sizeof(*vm),
			      now_us) == NULL;
	struct error error;

	if (is_new && now_us < profile_cache->paused_until_us) {
		end_with_stored(caller, &profile_cache->failure);
		return;
	}
	if (is_new && profile_cache->open >= PROFILE_CACHE_SOURCE_OPEN) {
		(void)error_set(&error, -EBUSY,
			"too many questions are open already");
		end_with_stored(caller, &error);
		return;
	}
	profile_cache->open += is_new;
	query_cache_ask(profile_cache->longer, vm, sizeof(*vm), on_longer,
		caller, now_us);
}

static bool is_short(const struct result *result)
{
	const struct sources *sources = &result->answer.sources;

	return (result->error.code == 0 || result->error.code == -ENOENT) &&
		sources->joined_us > sources->from_us;
}

static void on_settled(void *owner, const void *answer, const char *why)
{
	struct caller *caller = owner;
	const struct result *result = answer;

	if (result == NULL) {
		vm_profile_init(&caller->stored.answer.profile);
		(void)error_set(&caller->stored.error, -EBUSY, "%s", why);
	} else {
		caller->stored = *result;
	}
	if (caller->profile_cache->longer != NULL &&
		is_short(&caller->stored)) {
		ask_source(caller);
	} else {
		end_with_stored(caller, NULL);
	}
}

void profile_cache_ask(struct profile_cache *profile_cache,
	const struct profile_request *request, profile_cache_done done,
	void *owner)
{
	struct caller *caller = xcalloc(1, sizeof(*caller));
	struct profile_request *question = &caller->request;

	/* Behind their NULs, equal names may differ. */
	(void)snprintf(question->namespace, sizeof(question->namespace), "%s",
		request->namespace);
	(void)snprintf(question->name, sizeof(question->name), "%s",
		request->name);
	caller->profile_cache = profile_cache;
	caller->done = done;
	caller->owner = owner;
	query_cache_ask(profile_cache->queries, question, sizeof(*question),
		on_settled, caller, clock_monotonic_us());
}

/* ---- all ---- */

static struct query_cache *queries_new(struct profile_cache *profile_cache,
	void (*begin)(void *owner, struct query *query))
{
	return query_cache_new(&(const struct query_cache_options){
		.queries_max = PROFILE_CACHE_MAX,
		.running_max = PROFILE_CACHE_RUNNING,
		.start = begin,
		.free_answer = free,
		.owner = profile_cache,
	});
}

struct profile_cache *profile_cache_new(struct store *store,
	const struct profile_source *source)
{
	struct profile_cache *profile_cache =
		xcalloc(1, sizeof(*profile_cache));

	profile_cache->store = store;
	profile_cache->queries = queries_new(profile_cache, start);
	if (source != NULL) {
		profile_cache->source = *source;
		profile_cache->longer =
			queries_new(profile_cache, start_longer);
	}
	return profile_cache;
}

void profile_cache_free(struct profile_cache *profile_cache)
{
	if (profile_cache != NULL) {
		query_cache_free(profile_cache->queries);
		if (profile_cache->longer != NULL) {
			query_cache_free(profile_cache->longer);
		}
		free(profile_cache);
	}
}
