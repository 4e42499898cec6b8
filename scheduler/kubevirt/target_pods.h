/* The target pods of migrations: KubeVirt counts a pending migration from its
 * target pod on, and until the handoff only that pod tells the target node.
 * Pure. */
#pragma once

#include "kube/json_value.h"
#include "lib/map.h"

#include <stdbool.h>

struct target_pod {
	const char *migration_uid, *vmi_uid;
	const char *node; /* "": none yet */
};

/* Reads a launcher pod; the texts stay the object's. False: it is no target, or
 * the VM runs in it: see launcher_is_target(). */
bool target_pod_read(struct target_pod *out, const struct json_value *object);

/* Zeroed: none. */
struct target_pods {
	struct map by_uid;	 /* pod's uid -> struct target_pod, owned */
	struct map by_migration; /* migration's uid -> one of them */
};

void target_pods_fini(struct target_pods *pods);

/* The pod is the target of this migration of this VMI. Returns false if that
 * was known. */
bool target_pods_put(struct target_pods *pods, const char *uid,
	const struct target_pod *pod);

/* The pod is gone, or the VM runs in it. False: it was no target. */
bool target_pods_remove(struct target_pods *pods, const char *uid);

/* A target pod of the migration; NULL: none is known. */
const struct target_pod *target_pods_of(const struct target_pods *pods,
	const char *migration_uid);
