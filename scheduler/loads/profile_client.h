/* Profiles of VMs, asked of the aggregators: for VMs that the scheduler is
 * about to schedule, and in the background for running VMs that it did not bind
 * (they ran before it started, or another scheduler bound them).
 *
 * A pod waits for its VM's profile for PROFILE_CLIENT_WAIT_US at most, and not
 * at all while no aggregator is connected. The scheduler then treats the VM as
 * a new one. Answers are shared and remembered: see lib/query_cache.h.
 *
 * An aggregator reads a week of minutes for each profile, and for the first two
 * VMs of a node all reports of the last hour. In the background, the client
 * therefore asks about one VM at a time, every PROFILE_CLIENT_BACKFILL_MS at
 * most, and pauses for PROFILE_CLIENT_PAUSES times as long as the answer took:
 * an aggregator that is slow or busy spends a sixtieth of its reader's time on
 * it. The VMs of a node come one after the other: see
 * aggregator/store/computed_hours.h. */
#pragma once

#include "lib/error.h"
#include "lib/query_cache.h"
#include "proto/profile.h"
#include "scheduler/cache/queue.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

enum {
	PROFILE_CLIENT_MAX = 4096,
	PROFILE_CLIENT_BACKFILL_MS = 50,
	PROFILE_CLIENT_PAUSES = 59,
};
#define PROFILE_CLIENT_PAUSE_MAX_US UINT64_C(5000000)
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

/* Asks for a VM's profile that a user wants to know. Calls done exactly once,
 * maybe before this returns, or long after an aggregator lost the request: with
 * a struct usage, whose seconds are 0 if nothing is known, or with NULL. */
void profile_client_ask(struct profile_client *client,
	const struct profile_request *vm, query_done done, void *owner);

/* Starts asking for the cache's unprofiled VMs. Cheap if there is none. */
void profile_client_backfill(struct profile_client *client);

/* The pause after an answer in the background that took so long. Pure. */
uint64_t profile_client_pause_us(uint64_t took_us);

/* The part of a profile that scoring uses; zeroed if nothing is known. */
struct usage profile_client_usage(const struct vm_profile *profile);

void profile_client_close(struct profile_client *client); /* NULL is fine */
