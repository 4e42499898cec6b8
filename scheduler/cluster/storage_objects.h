/* The objects of storage, with what a decision needs of them: claims, volumes,
 * classes, and what CSI drivers say.
 *
 * Each is made from an object the API server serves. Texts are owned and never
 * NULL unless a comment says so; names are held. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "scheduler/objects/label_selector.h"
#include "scheduler/objects/labels.h"
#include "scheduler/objects/interner.h"
#include "kube/quantity.h"
#include "scheduler/objects/node_selector.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits of access modes. */
enum {
	ACCESS_ONCE = 1,
	ACCESS_READ_MANY = 2,
	ACCESS_WRITE_MANY = 4,
	ACCESS_ONE_POD = 8,
};

/* A PersistentVolumeClaim. */
struct claim {
	char *namespace_name, *name, *uid, *resource_version;
	char *class_name;     /* "": none */
	char *attributes;     /* VolumeAttributesClass; "": none */
	char *volume;	      /* spec.volumeName; "": none yet */
	char *selected_node;  /* NULL: none was selected */
	char *assumed_node;   /* NULL: none; by us, not yet at the API server */
	char *owner_uid;      /* of its controller; "": none */
	uint32_t placeholder; /* stands for the volume it will have */
	bool has_size;
	struct quantity size;
	unsigned int modes;
	bool is_block;
	bool is_bound; /* to `volume`, and both sides know */
	bool is_lost, is_deleting;
	bool has_selector;
	struct label_selector selector; /* of volumes */
};

enum { VOLUME_ZONES = 4 };

/* A label of a PersistentVolume that says where it is. */
struct volume_zone {
	uint32_t key, plain_key; /* the second without "beta" */
	uint32_t *values;	 /* owned, each held */
	size_t value_count;
};

/* A PersistentVolume. */
struct volume {
	char *name, *uid, *resource_version;
	char *class_name, *attributes;
	struct quantity capacity;
	unsigned int modes;
	bool is_block, is_deleting, is_available;
	bool has_affinity; /* required node affinity */
	struct terms affinity;
	struct labels labels;
	struct volume_zone zones[VOLUME_ZONES];
	size_t zone_count;
	char *claim_namespace, *claim_name; /* NULL: no claimRef */
	char *claim_uid;		    /* of the claimRef; or "" */
	char *assumed_uid;	 /* of the claim we chose it for; NULL: none */
	uint32_t driver, handle; /* of CSI; both 0: none */
	/* A kind that CSI migration rewrites, like awsElasticBlockStore; NULL:
	 * none. A constant. */
	const char *migrated;
};

/* A StorageClass. */
struct storage_class {
	char *provisioner;
	bool waits; /* volumeBindingMode is WaitForFirstConsumer */
	bool has_topologies;
	struct terms topologies;
	uint32_t driver;  /* the provisioner as a name */
	bool is_migrated; /* an in-tree provisioner that CSI stands in for */
};

/* What a CSINode says of a driver. */
struct driver_limit {
	uint32_t driver;
	int64_t volumes;
};

struct csi_node {
	struct driver_limit *limits; /* owned */
	size_t count;
};

struct csi_driver {
	bool has_capacity; /* spec.storageCapacity */
};

/* A CSIStorageCapacity. */
struct capacity {
	char *class_name;
	bool has_limit;
	struct quantity limit; /* of one volume, where that is known */
	struct label_selector nodes;
};

/* A VolumeAttachment. */
struct attachment {
	char *volume; /* "": none by name */
	uint32_t node, driver;
};

/* -EBADMSG, -E2BIG: not such an object, and why. */
must_check int claim_new(struct claim **out, struct names *names,
	const struct value *object, struct error *err);
must_check int volume_new(struct volume **out, struct names *names,
	const struct value *object, struct error *err);
must_check int storage_class_new(struct storage_class **out,
	struct names *names, const struct value *object, struct error *err);
must_check int csi_node_new(struct csi_node **out, struct names *names,
	const struct value *object, struct error *err);
must_check int csi_driver_new(struct csi_driver **out, struct names *names,
	const struct value *object, struct error *err);
must_check int capacity_new(struct capacity **out, struct names *names,
	const struct value *object, struct error *err);
must_check int attachment_new(struct attachment **out, struct names *names,
	const struct value *object, struct error *err);

/* NULL is fine. */
void claim_free(struct claim *claim, struct names *names);
void volume_free(struct volume *volume, struct names *names);
void storage_class_free(struct storage_class *class, struct names *names);
void csi_node_free(struct csi_node *node, struct names *names);
void csi_driver_free(struct csi_driver *driver, struct names *names);
void capacity_free(struct capacity *capacity, struct names *names);
void attachment_free(struct attachment *attachment, struct names *names);
