/* Tells cluster/vm_failures.h how starts and migrations of VMs ended, from the
 * launcher pods alone.
 *
 * A start failed if the kubelet rejected the pod, or the guest's container ran
 * for less than FORECAST_BOOT_US. A migration failed if its target pod ended
 * while the VM goes on in its source pod. That includes a migration that was
 * cancelled, because pods do not say why. A longer run, or a VM that arrived,
 * is a success. */
#pragma once

#include "kube/json_value.h"
#include "scheduler/cache/cache.h"

#include <stdint.h>

/* A pod's phase became Failed; object is the Pod. Once for each pod, before the
 * pod leaves the cache. */
void launcher_outcomes_failed(struct cache *cache,
	const struct json_value *object, int64_t now_us);

/* A pod is about to leave the cache, for whatever reason. */
void launcher_outcomes_left(struct cache *cache, const char *uid,
	int64_t now_us);

/* A newer version of a pod is about to replace the one in the cache. */
void launcher_outcomes_changed(struct cache *cache, const struct pod *pod);
