/* The informer of virt-launcher pods, which identifies the VM of each pod.
 *
 * Without it VMs have pod uids only: if the API server cannot be reached, or
 * does not allow to list pods, nothing else is missing. The informer keeps
 * trying and logs each change of its state once. */
#pragma once

#include "aggregator/live/identity.h"
#include "aggregator/live/object_labels.h"
#include "lib/error.h"

struct kube_client;
struct launcher_informer;
struct store;

/* client, identities and labels outlive it; labels NULL: they are not kept.
 * Never NULL. */
struct launcher_informer *launcher_informer_new(struct kube_client *client,
	struct identities *identities, struct object_labels *labels);

/* To be called every few seconds while the store is open: logs changes, and
 * stores each pod's identity once. informer NULL is fine. */
void launcher_informer_poll(struct launcher_informer *informer,
	struct store *store);

/* NULL is fine. */
void launcher_informer_close(struct launcher_informer *informer);
