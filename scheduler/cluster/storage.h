/* The storage of the cluster: which claims, volumes and classes there are.
 *
 * What was decided but is not at the API server yet is kept on the objects
 * themselves (assumed_node, assumed_uid) and outlives newer versions of them
 * until it is forgotten or the API server says the same. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "lib/map.h"
#include "scheduler/objects/interner.h"
#include "scheduler/cluster/storage_objects.h"

#include <stdbool.h>

enum storage_kind {
	STORAGE_CLAIMS,
	STORAGE_VOLUMES,
	STORAGE_CLASSES,
	STORAGE_CSI_NODES,
	STORAGE_CSI_DRIVERS,
	STORAGE_CAPACITIES,
	STORAGE_ATTACHMENTS,
	STORAGE_KINDS,
};

/* A zeroed one is empty. */
struct storage {
	/* By name, claims and capacities by "namespace/name"; of struct claim,
	 * struct volume, struct storage_class and so on. */
	struct map maps[STORAGE_KINDS];
};

void storage_fini(struct storage *storage, struct names *names);

/* An object as it is now. -EBADMSG, -E2BIG: not one we understand; what was
 * known of it stays. */
must_check int storage_put(struct storage *storage, enum storage_kind kind,
	struct names *names, const struct value *object, struct error *err);
void storage_remove(struct storage *storage, enum storage_kind kind,
	struct names *names, const char *namespace_name, const char *name);

/* NULL: there is none. */
struct claim *storage_claim(const struct storage *storage,
	const char *namespace_name, const char *name);
struct volume *storage_volume(const struct storage *storage, const char *name);
const struct storage_class *storage_class(const struct storage *storage,
	const char *name);
const struct csi_node *storage_csi_node(const struct storage *storage,
	const char *node);
const struct csi_driver *storage_csi_driver(const struct storage *storage,
	const char *name);

/* The claim's volume by driver and handle, or what stands for it: of the volume
 * it is bound to, else of its class. False: no CSI driver's. */
bool storage_identify(const struct storage *storage, const struct claim *claim,
	uint32_t *driver, uint32_t *handle);
