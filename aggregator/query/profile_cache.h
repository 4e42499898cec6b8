/* Profiles of VMs out of the store, remembered for a little while.
 *
 * Who asks for the same VM meanwhile shares the answer. A few are read at a
 * time, so that other queries of the store have their turn; PROFILES_MAX are
 * remembered or wait. */
#pragma once

#include "lib/error.h"
#include "proto/profile.h"

struct profiles;
struct store;

enum {
	PROFILES_MAX = 4096,
	PROFILES_RUNNING = 2,
};

/* How long an answer may be given again, and that there is none. */
#define PROFILES_KEPT_US UINT64_C(10000000)
#define PROFILES_UNKNOWN_US UINT64_C(5000000)

/* past is borrowed. err is NULL, or says why there is none: -ENOENT where the
 * store knows no such VM. */
typedef void (*profiles_done)(void *owner, const struct vm_past *past,
	const struct error *err);

/* Never NULL. */
struct profiles *profiles_new(struct store *store);

/* done is called exactly once, at the latest when the store has closed, maybe
 * before this returns. request is copied. */
void profiles_ask(struct profiles *profiles,
	const struct profile_request *request, profiles_done done, void *owner);

void profiles_free(struct profiles *profiles); /* once the store is closed */
