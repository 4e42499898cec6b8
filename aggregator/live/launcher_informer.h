/* The informer of virt-launcher pods, which identifies the VM of each pod.
 *
 * Without it VMs have pod uids only: if the API server cannot be reached, or
 * does not allow to list pods, nothing else is missing. The informer keeps
 * trying and logs each change of its state once. */
#pragma once

#include "aggregator/live/identity.h"
#include "lib/error.h"

#include <uv.h>

struct kube_config;
struct launcher_informer;
struct store;

/* Takes what config holds and leaves it empty; identities outlives it. Never
 * NULL. */
struct launcher_informer *launcher_informer_new(uv_loop_t *loop,
	struct kube_config *config, struct identities *identities);

/* To be called every few seconds while the store is open: logs changes, and
 * stores each pod's identity once. informer NULL is fine. */
void launcher_informer_poll(struct launcher_informer *informer,
	struct store *store);

/* NULL is fine. */
void launcher_informer_close(struct launcher_informer *informer);
