/* The storage objects of the cluster: claims, volumes, classes and others.
 *
 * Decisions that have not reached the API server yet are kept beside the
 * objects (assumed_nodes, assumed_uids). They survive newer versions of an
 * object until they are forgotten or the API server has a decision. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "lib/interner.h"
#include "lib/map.h"
#include "scheduler/cluster/shared_map.h"
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
	struct map assumed_nodes; /* "namespace/name" of a claim -> node name */
	struct map assumed_uids;  /* name of a volume -> uid of its claim */
};

/* How copies share the objects, and the values of the last two maps. */
extern const struct shared_values storage_object_values, storage_text_values;

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
const struct claim *storage_claim(const struct storage *storage,
	const char *namespace_name, const char *name);
const struct volume *storage_volume(const struct storage *storage,
	const char *name);
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

/* The reason to refuse a pod with this claim: its volume, or without a volume
 * its class, is of a type that CSI migration rewrites. The caller frees the
 * text. NULL: the claim is supported, as far as its objects are known. */
char *storage_unsupported(const struct storage *storage,
	const struct claim *claim);

/* The node that was selected for the claim, and the claim for which the volume
 * was chosen, while the API server does not know; NULL: none. */
const char *storage_assumed_node(const struct storage *storage,
	const struct claim *claim);
const char *storage_assumed_uid(const struct storage *storage,
	const struct volume *volume);
/* NULL forgets. */
void storage_assume_node(struct storage *storage, const struct claim *claim,
	const char *node);
void storage_assume_uid(struct storage *storage, const struct volume *volume,
	const char *claim_uid);
