/* Leads while it holds a Lease: asks for it every two seconds, renews it, gives
 * it back. The rules are kube/lease.h's. */
#pragma once

#include "lib/buffer.h"

#include <stdbool.h>
#include <stdint.h>

struct elector;
struct kube_client;

struct elector_options {
	const char *namespace, *name; /* of the Lease; copied */
	const char *identity;	      /* unlike any other process's; copied */
	/* It leads from here on, or no longer. Not called for what
	 * elector_give_up() does. */
	void (*on_change)(void *owner, bool leads);
	void *owner; /* outlives the elector */
};

/* Starts to ask at once. Never NULL. */
struct elector *elector_new(struct kube_client *client,
	const struct elector_options *options);

/* Whether it leads at this very moment. Ask before each thing that only a
 * leader may do: a process that slept may have lost the lease unawares. */
bool elector_leads(const struct elector *elector, uint64_t now_us);

/* Appends who leads, in words, or why nobody is known to. */
void elector_say(const struct elector *elector, struct buffer *out,
	uint64_t now_us);

/* Leads no longer, and tells the API server if it did; done follows, at the
 * latest after 1 s. */
void elector_give_up(struct elector *elector, void (*done)(void *owner),
	void *owner);

void elector_close(struct elector *elector); /* NULL is fine */
