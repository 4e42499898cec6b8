/* The minutes of a VM from the engine, for its profile. */
#pragma once

#include "aggregator/query/profile_cache.h"

struct remote_read;

/* The source of a profile cache; remote outlives the cache. */
struct profile_source remote_profile_source(struct remote_read *remote);
