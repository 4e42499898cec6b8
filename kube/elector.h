/* Leader election by a Lease: acquires it, renews it every two seconds and
 * releases it. kube/lease.h has the rules. */
#pragma once

#include "lib/buffer.h"

#include <stdbool.h>
#include <stdint.h>

struct elector;
struct kube_client;

struct elector_options {
	const char *namespace, *name; /* of the Lease; copied */
	const char *identity; /* different from every other process; copied */
	/* The process has become leader, or has lost the leadership. Not called
	 * for elector_release(). */
	void (*on_change)(void *owner, bool leads);
	void *owner; /* outlives the elector */
};

/* Starts at once. Never NULL. */
struct elector *elector_new(struct kube_client *client,
	const struct elector_options *options);

/* Whether this process is leader at now_us. Check this before everything that
 * only a leader may do: a process that was suspended may have lost the lease
 * without noticing. */
bool elector_leads(const struct elector *elector, uint64_t now_us);

/* Appends who is leader, or why that is unknown, in words. */
void elector_describe(const struct elector *elector, struct buffer *out,
	uint64_t now_us);

/* Ends the leadership and releases the Lease if it is held. done is called
 * after 1 s at the latest. */
void elector_release(struct elector *elector, void (*done)(void *owner),
	void *owner);

void elector_close(struct elector *elector); /* NULL is fine */
