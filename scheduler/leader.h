/* Leader election: whether this replica schedules pods. It does while it holds
 * a Lease, or always with --leader-elect=false. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/config.h"

#include <stdbool.h>
#include <stdint.h>

struct kube_client;
struct leader;

/* Calls on_change when this replica becomes leader or loses the lease; owner
 * and config outlive the leader. The Lease is in
 * --leader-elect-resource-namespace, by default in the client's namespace.
 * Never NULL. */
struct leader *leader_new(struct kube_client *client,
	const struct scheduler_config *config,
	void (*on_change)(void *owner, bool leads), void *owner);

/* Stands for election from now on, when this replica can decide: others would
 * wait for one that holds the Lease and cannot. Without leader election it
 * calls on_change at once. */
void leader_stand(struct leader *leader);

/* The Lease's name; NULL without leader election. */
const char *leader_lease(const struct leader *leader);

/* True if this replica is leader at now_us. */
bool leader_leads(const struct leader *leader, uint64_t now_us);

/* Appends which replica is leader, if not this one, or why that is unknown.
 * Nothing before leader_stand(). */
void leader_describe(const struct leader *leader, struct buffer *out,
	uint64_t now_us);

/* Releases the lease. Calls done within a second. */
void leader_release(struct leader *leader, void (*done)(void *owner),
	void *owner);

void leader_close(struct leader *leader); /* NULL is fine */
