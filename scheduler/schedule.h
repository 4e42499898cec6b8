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

struct cache;
struct metrics;
struct placer;
struct queue;
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

/* What it knows, for those who ask over HTTP. Borrowed until the loop runs. */
struct placer_view {
	const struct cache *cache;
	const struct queue *queue;
	struct metrics *metrics;
	const char *lease; /* NULL: there is none */
	bool is_synced;	   /* the cluster is known completely */
	bool leads;
	size_t connected, aggregators;
	int64_t now_us; /* of this moment */
};

struct placer_view placer_view(struct placer *placer);

/* No new decisions; calls done once no binding is under way, or after 3 s. */
void placer_drain(struct placer *placer, void (*done)(void *owner),
	void *owner);

void placer_close(struct placer *placer); /* NULL is fine */
