/* The scheduler itself: watch, decide, assume, bind, confirm.
 *
 * Owns the cache, the queue and everything that talks; all of it on one loop.
 * Nothing is decided before nodes and pods are known completely, nor, for up to
 * 5 s, before the aggregators have answered. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"
#include "scheduler/config.h"

#include <stdbool.h>
#include <uv.h>

struct placer;
struct kube_client;

/* client and config outlive the placer.
 * -EINVAL: an aggregator's URL is none, or a TLS file is no good; else what
 * reading these said. */
must_check int placer_new(struct placer **out, uv_loop_t *loop,
	struct kube_client *client, const struct scheduler_config *config,
	struct error *err);

/* True once pods can be placed. Appends what is missing or degraded, in words;
 * nothing if all is well. */
bool placer_is_ready(const struct placer *placer, struct buffer *why);

/* Appends the text of GET /metrics. */
void placer_metrics(const struct placer *placer, struct buffer *out);

/* No new decisions; calls done once no binding is under way, or after 3 s. */
void placer_drain(struct placer *placer, void (*done)(void *owner),
	void *owner);

void placer_close(struct placer *placer); /* NULL is fine */
