/* The scheduling loop: takes pods from the queue, decides, and starts their
 * binding cycles.
 *
 * Owns the cache, the queue, the informers and the connections to the
 * aggregators, all on one event loop. Makes no decision before the caches are
 * synced, nor, for up to 5 s after that, before every aggregator has sent a
 * snapshot. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"
#include "scheduler/config.h"
#include "scheduler/metrics.h"

#include <stdbool.h>
#include <uv.h>

struct schedule;
struct kube_client;
struct moves;
struct admission_check;

/* client and config outlive the scheduling loop. -EINVAL: an aggregator's URL
 * or a TLS file is invalid; otherwise the error of reading the files. */
must_check int schedule_new(struct schedule **out, uv_loop_t *loop,
	struct kube_client *client, const struct scheduler_config *config,
	struct error *err);

/* True once pods can be scheduled. Appends what is missing or degraded; nothing
 * if all is well. */
bool schedule_is_ready(const struct schedule *sched, struct buffer *why);

/* The state as HTTP clients see it. */
struct scheduler_view schedule_view(struct schedule *sched);

/* Borrowed. */
struct moves *schedule_moves(struct schedule *sched);
struct admission_check *schedule_admission(const struct schedule *sched);

/* Makes no more decisions. Calls done once no binding is in flight, or after
 * 3 s. */
void schedule_drain(struct schedule *sched, void (*done)(void *owner),
	void *owner);

void schedule_close(struct schedule *sched); /* NULL is fine */
