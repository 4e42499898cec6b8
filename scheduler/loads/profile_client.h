/* Profiles of VMs, asked of the aggregators: for VMs that the scheduler is
 * about to schedule, and in the background for running VMs that it did not bind
 * (they ran before it started, or another scheduler bound them).
 *
 * A pod waits for its VM's profile for PROFILE_CLIENT_WAIT_US at most, and not
 * at all while no aggregator is connected. The scheduler then treats the VM as
 * a new one. Answers are shared and remembered: see lib/query_cache.h. In the
 * background, the client asks about one VM every PROFILE_CLIENT_BACKFILL_MS,
 * because an aggregator reads a week of minutes for each profile. */
#pragma once

#include "lib/error.h"
#include "proto/profile.h"
#include "scheduler/cache/queue.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

enum { PROFILE_CLIENT_MAX = 4096, PROFILE_CLIENT_BACKFILL_MS = 50 };
#define PROFILE_CLIENT_WAIT_US INT64_C(300000)
/* How long a profile is remembered, and how long an unknown VM. A request
 * without a reply ends after the second time too. */
#define PROFILE_CLIENT_KEPT_US UINT64_C(60000000)
#define PROFILE_CLIENT_UNKNOWN_US UINT64_C(5000000)

struct aggregators_options;
struct profile_client;

/* Uses all options but on_node. Errors as aggregator_client_new(). */
must_check int profile_client_new(struct profile_client **out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err);

/* True: the pod can be scheduled now, and pod->usage holds its VM's profile if
 * there is one. False: the pod's not_before_us is set. */
bool profile_client_may_schedule(struct profile_client *client,
	struct queued_pod *queued, int64_t now_us);

/* Starts asking for the cache's unprofiled VMs. Cheap if there is none. */
void profile_client_backfill(struct profile_client *client);

/* The part of a profile that scoring uses; zeroed if nothing is known. */
struct usage profile_client_usage(const struct vm_profile *profile);

void profile_client_close(struct profile_client *client); /* NULL is fine */
