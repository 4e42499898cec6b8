/* The storage objects of the cluster: claims, volumes, classes and others.
 *
 * Decisions that have not reached the API server yet are kept in the objects
 * (assumed_node, assumed_uid). They survive newer versions of an object until
 * they are forgotten or the API server has the same. */
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

/* Zeroed: empty. */
struct storage {
	/* "name" or "namespace/name" -> struct claim, struct volume and so
	 * on. */
	struct map maps[STORAGE_KINDS];
};

void storage_fini(struct storage *storage, struct interner *interner);

/* Adds or replaces an object. -EBADMSG, -E2BIG: invalid; the old version
 * stays. */
must_check int storage_put(struct storage *storage, enum storage_kind kind,
	struct interner *interner, const struct json_value *object,
	struct error *err);
void storage_remove(struct storage *storage, enum storage_kind kind,
	struct interner *interner, const char *namespace_name,
	const char *name);

/* NULL: there is no such object. */
struct claim *storage_claim(const struct storage *storage,
	const char *namespace_name, const char *name);
struct volume *storage_volume(const struct storage *storage, const char *name);
const struct storage_class *storage_class(const struct storage *storage,
	const char *name);
const struct csi_node *storage_csi_node(const struct storage *storage,
	const char *node);
const struct csi_driver *storage_csi_driver(const struct storage *storage,
	const char *name);

/* The CSI driver and volume handle of a claim; without a volume yet, the driver
 * of its class and a placeholder. False: not a CSI volume. */
bool storage_csi_handle(const struct storage *storage,
	const struct claim *claim, uint32_t *driver, uint32_t *handle);
