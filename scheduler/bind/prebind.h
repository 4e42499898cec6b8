/* Binds a pod's volumes before the pod is bound: writes the volume plan to the
 * API server and waits until the claims are bound.
 *
 * An existing volume gets a reference to the claim. A claim whose volume is to
 * be provisioned gets the name of the node. The volume controller and the
 * provisioner do the rest. A failure undoes nothing that is written: the next
 * attempt finds it. */
#pragma once

#include "scheduler/cluster/cluster.h"
#include "scheduler/filter/volume_plan.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct kube_client;
struct prebind;

/* For all claims of a pod; kube-scheduler's bindTimeout. */
#define PREBIND_TIMEOUT_US INT64_C(600000000)
/* The error after that time, with kube-scheduler's text. */
#define PREBIND_TIMED_OUT "context deadline exceeded"

struct prebind_result {
	const char *uid; /* of the pod */
	const char *node;
	const char *why;   /* the sentence given to prebind_start() */
	const char *error; /* "": all claims are bound */
};

struct prebind_handler {
	/* result is borrowed for the call. */
	void (*on_done)(void *owner, const struct prebind_result *result);
	/* True if the pod still waits for its volumes and this process is
	 * leader. */
	bool (*is_wanted)(void *owner, const char *uid);
	void *owner; /* outlives the prebind */
};

/* cluster outlives the prebind. Never NULL. */
struct prebind *prebind_new(struct kube_client *client, uv_loop_t *loop,
	struct cluster *cluster, const struct prebind_handler *handler);

/* Starts. Calls on_done exactly once and later than this call, unless all is
 * dropped or closed. Empties plan, which later decisions regard as done. */
void prebind_start(struct prebind *prebind, const struct pod *pod,
	const char *node, const char *why, struct volume_plan *plan,
	int64_t now_us);

/* Checks all pods: the cluster's storage or pods changed, or time passed.
 * now_us is monotonic, as in prebind_start(). */
void prebind_poll(struct prebind *prebind, int64_t now_us);

size_t prebind_pending(const struct prebind *prebind);

/* Drops all pods without calling on_done. */
void prebind_drop(struct prebind *prebind);

void prebind_close(struct prebind *prebind); /* NULL is fine */
