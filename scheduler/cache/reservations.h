/* Reservations: room that a node keeps for a VM whose pod does not exist yet. A
 * VM has one reservation at most. A VM is known by its namespace and the UID of
 * its VMI.
 *
 * A DataVolume that waits for its first consumer makes KubeVirt run a
 * temporary pod of the VM's size (annotation
 * kubevirt.io/ephemeral-provisioning). KubeVirt deletes that pod once the
 * volume has its node, and creates the VM's own pod when the import is done.
 * With local volumes the VM can run on no other node, and other pods would
 * fill that node meanwhile. So the temporary pod keeps counting on its node
 * until another pod of the same VM (label kubevirt.io/created-by) has a node,
 * or for RESERVATIONS_HOLD_US.
 *
 * Reservations are in memory only: a scheduler that restarts has none. Times
 * are monotonic microseconds. */
#pragma once

#include "lib/map.h"
#include "scheduler/cache/cache.h"

#include <stdbool.h>
#include <stdint.h>

/* Most imports are done by then. The scheduler does not learn that a VM was
 * deleted during its import; its reservation ends with this time. */
#define RESERVATIONS_HOLD_US INT64_C(600000000)

struct reservations {
	struct cache *cache;
	struct map by_vmi; /* namespace/UID of a VMI -> struct reservation */
};

/* cache outlives the reservations. */
void reservations_init(struct reservations *reservations, struct cache *cache);
void reservations_fini(struct reservations *reservations);

/* The pod was deleted. True: the pod is a temporary pod on a node; the caller
 * leaves the pod in the cache. */
bool reservations_hold(struct reservations *reservations, const char *uid,
	int64_t now_us);

/* Takes the reservation of the pod's VM out of the cache while the scheduler
 * decides about the pod, and puts it back. The pod stays the caller's. A
 * migration's target takes over what its VM was observed to use. */
void reservations_suspend(struct reservations *reservations, struct pod *pod);
void reservations_resume(struct reservations *reservations,
	const struct pod *pod);

/* The pod is assumed on its node after reservations_suspend(). The reservation
 * of its VM stays out of the cache, until reservations_resume() (the pod could
 * not be bound) or reservations_settle(). A pod that does not take its place
 * leaves the reservation as it was. */
void reservations_assume(struct reservations *reservations,
	const struct pod *pod);

/* The pod has a node: the reservation of its VM ends. */
void reservations_settle(struct reservations *reservations,
	const struct pod *pod);

/* The pod failed: the pod leaves the cache, and a reservation that it held
 * ends. True if the pod counted on a node. */
bool reservations_drop(struct reservations *reservations, const char *namespace,
	const char *vmi_uid, const char *uid);

/* Ends the reservations that are too old. True if there was one. */
bool reservations_expire(struct reservations *reservations, int64_t now_us);

/* A move of a running VM was ordered: the VM counts on the target, as a copy of
 * the pod it runs in, until its target pod has a node, the order or the VM
 * ends, or for RESERVATIONS_ORDER_US. That is more than an order's timeouts.
 * The copy's `original` is set. An order of the same pod and node is renewed.
 * False: the pod is not in the cache, or the VM has another reservation. */
#define RESERVATIONS_ORDER_US INT64_C(180000000)
bool reservations_order(struct reservations *reservations, const char *pod_uid,
	const char *node, int64_t now_us);
/* The VM's order lasts for RESERVATIONS_ORDER_US from now. False: it has
 * none. */
bool reservations_renew(struct reservations *reservations,
	const char *namespace, const char *vmi_uid, int64_t now_us);
/* The order ended without a target pod. Reservations of temporary pods stay.
 * True: the VM had an order, and the caller wakes the queue. */
bool reservations_cancel(struct reservations *reservations,
	const char *namespace, const char *vmi_uid);
/* True: the target pod is of a VM with an order. */
bool reservations_are_for(const struct reservations *reservations,
	const struct pod *target);
/* The target pod was deleted before it had a node: its VM's order ends. True
 * as for reservations_cancel(). */
bool reservations_target_gone(struct reservations *reservations,
	const struct pod *target);
