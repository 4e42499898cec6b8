/* The storage objects that decisions use: claims, volumes, classes and the
 * objects of CSI drivers.
 *
 * Each is read from a Kubernetes object and never changes afterwards, because
 * copies of the cluster share it: a newer version is another object. Strings
 * are owned, and never NULL unless a comment says so. Ids are held. */
#pragma once

#include "kube/json_value.h"
#include "kube/label_selector.h"
#include "kube/labels.h"
#include "lib/error.h"
#include "lib/interner.h"
#include "scheduler/cluster/storage_read.h"
#include "scheduler/objects/node_selector.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct storage_type;

/* Begins every object. */
struct storage_object {
	const struct storage_type *type;
	/* The storages that have it beside the first. The event loop alone
	 * reads and writes it. */
	unsigned copies;
};

/* A PersistentVolumeClaim. */
struct claim {
	struct storage_object object;
	char *namespace_name, *name, *uid, *resource_version;
	char *class_name;     /* "": none */
	char *attributes;     /* VolumeAttributesClass; "": none */
	char *volume;	      /* spec.volumeName; "": none yet */
	char *selected_node;  /* NULL: none */
	char *owner_uid;      /* of its controller; "": none */
	uint32_t placeholder; /* handle of a volume that it will have */
	bool has_size;
	struct quantity size;
	unsigned int modes;
	bool is_block;
	bool is_bound; /* to `volume`; binding is complete */
	bool is_lost, is_deleting;
	bool has_selector;
	struct label_selector selector; /* of volumes */
};

enum { VOLUME_ZONES = 4 };

/* A zone or region label of a PersistentVolume. */
struct volume_zone {
	struct requirement wanted;
	uint32_t plain_key; /* held; without "beta" */
};

/* A PersistentVolume. */
struct volume {
	struct storage_object object;
	char *name, *uid, *resource_version;
	char *class_name, *attributes;
	struct quantity capacity;
	unsigned int modes;
	bool is_block, is_deleting, is_available;
	bool has_affinity; /* required node affinity */
	struct node_selector affinity;
	struct labels labels;
	struct volume_zone zones[VOLUME_ZONES];
	size_t zone_count;
	char *claim_namespace, *claim_name; /* NULL: no claimRef */
	char *claim_uid;		    /* of the claimRef; or "" */
	uint32_t driver, handle;	    /* of CSI; both 0: none */
	/* A type that CSI migration rewrites, like awsElasticBlockStore; NULL:
	 * none. Static. */
	const char *migrated;
};

/* A StorageClass. */
struct storage_class {
	struct storage_object object;
	char *provisioner;
	bool waits_for_consumer; /* volumeBindingMode is WaitForFirstConsumer */
	bool has_topologies;
	struct node_selector topologies;
	uint32_t driver;  /* id of the provisioner */
	bool is_migrated; /* in-tree provisioner that CSI migration replaces */
};

/* The volume limit of a driver in a CSINode. */
struct driver_limit {
	uint32_t driver;
	int64_t volumes;
};

struct csi_node {
	struct storage_object object;
	struct driver_limit *limits; /* owned */
	size_t count;
	uint32_t *drivers; /* owned; with and without a limit */
	size_t driver_count;
};

struct csi_driver {
	struct storage_object object;
	bool has_capacity; /* spec.storageCapacity */
	bool is_required;  /* spec.preventPodSchedulingIfMissing */
};

/* A CSIStorageCapacity. */
struct capacity {
	struct storage_object object;
	char *class_name;
	bool has_limit;
	struct quantity limit; /* of one volume, if has_limit */
	struct label_selector nodes;
};

/* A VolumeAttachment. */
struct attachment {
	struct storage_object object;
	char *volume; /* its name, or "" */
	uint32_t node, driver;
};

/* Reads and frees objects of one type. */
struct storage_type {
	size_t size;
	/* Fills a zeroed object, which needs fini() even after a failure.
	 * -EBADMSG, -E2BIG: invalid. */
	int (*read)(void *out, struct interner *interner,
		const struct json_value *object, struct error *err);
	/* NULL: the object owns nothing. */
	void (*fini)(void *object, struct interner *interner);
};

extern const struct storage_type storage_claim_type, storage_volume_type,
	storage_class_type, storage_csi_node_type, storage_csi_driver_type,
	storage_capacity_type, storage_attachment_type;
