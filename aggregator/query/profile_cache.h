/* Profiles of VMs from the store, shared and remembered for a little while: see
 * lib/query_cache.h. Few are read at a time, so that other reads of the store
 * have their turn.
 *
 * With a source, the cache asks for the minutes before the store's, if those do
 * not reach back to the profile's begin: after the volume was lost, or for a VM
 * that is new. Thousands of such questions come at once when a scheduler
 * starts, so few are open at a time; a further one gets what the store has.
 * After a failure of the source, all do for a while. */
#pragma once

#include "aggregator/query/sources.h"
#include "lib/error.h"
#include "proto/profile.h"

#include <stddef.h>

struct profile_builder;
struct profile_cache;
struct store;

enum {
	PROFILE_CACHE_MAX = 4096, /* remembered, waiting and running */
	PROFILE_CACHE_RUNNING = 2,
	PROFILE_CACHE_SOURCE_OPEN = 16, /* questions to the source */
};

/* How long a profile is remembered, and that a VM is unknown. */
#define PROFILE_CACHE_KEPT_US UINT64_C(10000000)
#define PROFILE_CACHE_UNKNOWN_US UINT64_C(5000000)

/* The same of the source: what it has of a week changes slowly, that it has
 * nothing even more so. No VM is asked about for a while after a failure. */
#define PROFILE_CACHE_SOURCE_KEPT_US UINT64_C(900000000)
#define PROFILE_CACHE_SOURCE_NOTHING_US UINT64_C(3600000000)
#define PROFILE_CACHE_SOURCE_FAILED_US UINT64_C(30000000)

/* A question that waits longer for its turn is not asked. */
#define PROFILE_CACHE_SOURCE_WAIT_US UINT64_C(2000000)

/* The store's minutes reach back far enough if they lack less. */
#define PROFILE_CACHE_LACKS_MS UINT64_C(3600000)

/* err NULL: `added` minutes were added. */
typedef void (*profile_source_done)(void *owner, size_t added,
	const struct error *err);

struct profile_source {
	/* Adds the VM's minutes before the first one that the builder knows.
	 * Calls done exactly once, maybe before this returns. The builder is
	 * left alone after that. */
	void (*fill)(void *owner, const struct profile_request *vm,
		struct profile_builder *builder, profile_source_done done,
		void *done_owner);
	void *owner;
};

struct profile_answer {
	struct vm_profile profile;
	struct sources sources;
};

/* answer is borrowed. err is NULL, or says why there is no profile; the
 * answer's is unknown then. -ENOENT: no such VM is known. */
typedef void (*profile_cache_done)(void *owner,
	const struct profile_answer *answer, const struct error *err);

/* source NULL: the store alone; it is copied. Never NULL. */
struct profile_cache *profile_cache_new(struct store *store,
	const struct profile_source *source);

/* Calls done exactly once, at the latest when the store has closed and the
 * source has answered, maybe before this returns. Copies the request. */
void profile_cache_ask(struct profile_cache *profile_cache,
	const struct profile_request *request, profile_cache_done done,
	void *owner);

/* Once the store is closed and the source has answered. NULL is fine. */
void profile_cache_free(struct profile_cache *profile_cache);
