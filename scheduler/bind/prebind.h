/* Sees to a pod's volumes before the pod is bound: writes what was decided to
 * the API server and waits until the claims are bound.
 *
 * A volume that is there gets the claim's reference, for one to be made the
 * claim gets the node's name; the rest is done by the volume controller and the
 * provisioner. What was written stays written if the pod does not make it: the
 * next attempt finds it. */
#pragma once

#include "scheduler/cluster/cluster.h"
#include "scheduler/objects/pod.h"
#include "scheduler/filter/volume_plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct kube_client;
struct prebind;

/* How long the claims of one pod may take, as kube-scheduler's bindTimeout. */
#define PREBIND_TIMEOUT_US INT64_C(600000000)
/* The error after that, in kube-scheduler's words, which tools look for. */
#define PREBIND_TIMED_OUT "context deadline exceeded"

struct prebind_result {
	const char *uid; /* of the pod */
	const char *node;
	const char *why;   /* the sentence given to prebind_start() */
	const char *error; /* "": all claims are bound */
};

struct prebind_handler {
	/* Everything in result is borrowed for the call. */
	void (*on_done)(void *owner, const struct prebind_result *result);
	/* The pod still waits for its volumes, and it is ours. */
	bool (*is_wanted)(void *owner, const char *uid);
	void *owner; /* outlives the prebind */
};

/* cluster outlives it. Never NULL. */
struct prebind *prebind_new(struct kube_client *client, uv_loop_t *loop,
	const struct cluster *cluster, const struct prebind_handler *handler);

/* Begins; on_done follows exactly once unless all is dropped or closed, never
 * within the call. Takes what plan holds and leaves it empty. Later decisions
 * take it for done from now on. */
void prebind_start(struct prebind *prebind, const struct pod *pod,
	const char *node, const char *why, struct volume_plan *plan,
	int64_t now_us);

/* The cluster's storage or pods have changed, or time has passed. now_us is
 * monotonic, as prebind_start()'s. */
void prebind_look(struct prebind *prebind, int64_t now_us);

size_t prebind_pending(const struct prebind *prebind);

/* No on_done comes any more for what is under way. */
void prebind_drop(struct prebind *prebind);

void prebind_close(struct prebind *prebind); /* NULL is fine */
