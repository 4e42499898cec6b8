/* The answer of GET /v1/room: the largest VMs that fit now, and after a few
 * moves.
 *
 * KubeVirt's launcher pods are imitated for VMs of common shapes: plain, with
 * huge pages, with dedicated CPUs. An answer is kept for
 * ROOM_REPORT_KEPT_US; requests that arrive while it is being made share it. */
#pragma once

#include "lib/buffer.h"

#include <stdbool.h>
#include <stdint.h>

struct kubevirt;
struct planner;
struct cache;
struct room_report;

#define ROOM_REPORT_KEPT_US INT64_C(10000000)

/* At a time; further ones get 503. */
enum { ROOM_REPORT_WAITING_MAX = 32 };

/* Never NULL. All outlive it. */
struct room_report *room_report_new(struct cache *cache,
	const struct kubevirt *kubevirt, struct planner *planner);

/* Calls done later, never inside this: with the JSON of the list "fits", or
 * with NULL and a sentence why there is none. False: too many wait. */
bool room_report_ask(struct room_report *report,
	void (*done)(void *owner, const char *fits, const char *error),
	void *owner);
/* The owner left before done was called. */
void room_report_forget(struct room_report *report, void *owner);

void room_report_close(struct room_report *report); /* NULL is fine */
