/* The answer of GET /v1/room: the largest VMs that fit now, and after a few
 * moves.
 *
 * KubeVirt's launcher pods are imitated for VMs of common shapes: plain, with
 * huge pages, with dedicated CPUs. An answer is kept for
 * ROOM_REPORT_KEPT_US; requests that arrive while it is being made share it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct cache;
struct kubevirt;
struct planner;
struct room_report;

#define ROOM_REPORT_KEPT_US INT64_C(10000000)

/* At a time; further ones get 503. */
enum { ROOM_REPORT_WAITING_MAX = 32 };

/* Never NULL. All outlive it, and the planner calls done() of its jobs before
 * the cache is freed. kubevirt may be NULL. */
struct room_report *room_report_new(uv_loop_t *loop, struct cache *cache,
	const struct kubevirt *kubevirt, struct planner *planner);

/* Calls done once, later, never inside this: with the JSON of the object
 * "fits", borrowed for the call, or with NULL and a sentence why there is none.
 * done may ask again and forget. False: too many wait, and done is not
 * called. */
bool room_report_ask(struct room_report *report,
	void (*done)(void *owner, const char *fits, const char *error),
	void *owner);
/* The owner left: done is not called for what it asked. A search that nobody
 * waits for any more is stopped. */
void room_report_forget(struct room_report *report, void *owner);

/* Calls no done, and must not be called by one. NULL is fine. */
void room_report_close(struct room_report *report);
