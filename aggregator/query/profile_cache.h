/* Profiles of VMs from the store, shared and remembered for a little while: see
 * lib/query_cache.h. Few are read at a time, so that other reads of the store
 * have their turn. */
#pragma once

#include "lib/error.h"
#include "proto/profile.h"

struct profile_cache;
struct store;

enum {
	PROFILE_CACHE_MAX = 4096, /* remembered, waiting and running */
	PROFILE_CACHE_RUNNING = 2,
};

/* How long a profile is remembered, and that a VM is unknown. */
#define PROFILE_CACHE_KEPT_US UINT64_C(10000000)
#define PROFILE_CACHE_UNKNOWN_US UINT64_C(5000000)

/* profile is borrowed. err is NULL, or says why there is no profile; -ENOENT:
 * the store knows no such VM. */
typedef void (*profile_cache_done)(void *owner,
	const struct vm_profile *profile, const struct error *err);

/* Never NULL. */
struct profile_cache *profile_cache_new(struct store *store);

/* Calls done exactly once, at the latest when the store has closed, maybe
 * before this returns. Copies the request. */
void profile_cache_ask(struct profile_cache *profile_cache,
	const struct profile_request *request, profile_cache_done done,
	void *owner);

/* Once the store is closed. NULL is fine. */
void profile_cache_free(struct profile_cache *profile_cache);
