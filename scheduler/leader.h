/* Whether this replica is the one that places pods: by a Lease, or always where
 * --leader-elect is off. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/config.h"

#include <stdbool.h>
#include <stdint.h>

struct kube_client;
struct leader;

/* on_change is called when it begins or ceases to lead; owner outlives the
 * leader. The Lease lies where --leader-elect-resource-namespace says, else in
 * the client's own namespace. Never NULL. */
struct leader *leader_new(struct kube_client *client,
	const struct scheduler_config *config,
	void (*on_change)(void *owner, bool leads), void *owner);

/* The Lease's name; NULL if there is none and it always leads. */
const char *leader_lease(const struct leader *leader);

/* At this very moment. */
bool leader_leads(const struct leader *leader, uint64_t now_us);

/* Appends who leads, if it is not this one, or why nobody is known to. */
void leader_say(const struct leader *leader, struct buffer *out,
	uint64_t now_us);

/* Leads no longer and lets another begin; done follows within a second. */
void leader_give_up(struct leader *leader, void (*done)(void *owner),
	void *owner);

void leader_close(struct leader *leader); /* NULL is fine */
