/* The input of a decision: the nodes with their pods, and the objects to which
 * constraints of pods refer.
 *
 * Indexes keep a decision about a pod without constraints from reading pods.
 * cache/cache.h fills a cluster from watches, offline/score_cmd.h from a
 * file. */
#pragma once

#include "kube/json_value.h"
#include "kube/labels.h"
#include "lib/error.h"
#include "lib/interner.h"
#include "lib/map.h"
#include "scheduler/cluster/node.h"
#include "scheduler/cluster/storage.h"
#include "scheduler/cluster/vm_failures.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pod_on_node {
	const struct pod *pod;	 /* borrowed */
	const struct node *node; /* borrowed */
};

/* A decision works on any cluster that is zeroed but for `nodes` and
 * `count`. */
struct cluster {
	struct interner *interner; /* borrowed */
	struct node **nodes;	   /* all owned; in no order */
	size_t count, capacity;
	/* Owned; the pods with affinity or anti-affinity terms. */
	struct pod_on_node *affinity_pods;
	size_t affinity_pod_count, affinity_pod_capacity;
	const struct pod **nominated_pods; /* owned; the pods are borrowed */
	size_t nominated_count, nominated_capacity;
	struct map namespaces; /* name -> its labels and its consent */
	struct storage storage;
	struct vm_failures failures;
	/* By cluster/kin_pass.h. A copy has none: its nodes know their VMs'. */
	struct kin_table kin;
	struct behaviours behaviours; /* those of the API server's version */
};

void cluster_init(struct cluster *cluster, struct interner *interner);
void cluster_fini(struct cluster *cluster); /* before the interner */

/* Takes ownership of node, which has no pods yet. */
void cluster_add_node(struct cluster *cluster, struct node *node);
/* Frees node; the caller owns its pods. */
void cluster_remove_node(struct cluster *cluster, struct node *node);

/* node_add_pod() and node_remove_pod(), and the indexes. The caller owns the
 * pod and keeps it until it is removed. */
void cluster_add_pod(struct cluster *cluster, struct node *node,
	const struct pod *pod, int64_t bound_us);
void cluster_remove_pod(struct cluster *cluster, struct node *node,
	const struct pod *pod);

/* A pod that the sums of a copied node count already. */
void cluster_add_counted_pod(struct cluster *cluster, struct node *node,
	const struct pod *pod, int64_t bound_us);

/* A pod that is nominated for a node and not bound: see
 * filter/nominated_pods.h. The caller owns the pod and keeps it until it is
 * removed. */
void cluster_add_nominated(struct cluster *cluster, const struct pod *pod);
void cluster_remove_nominated(struct cluster *cluster, const struct pod *pod);

/* The objects to which constraints refer, beside nodes and pods. */
enum cluster_kind {
	CLUSTER_STORAGE, /* from here on one for each enum storage_kind */
	CLUSTER_NAMESPACES = CLUSTER_STORAGE + STORAGE_KINDS,
	CLUSTER_KINDS,
};

/* "/api/v1/namespaces". */
const char *cluster_kind_path(enum cluster_kind kind);

/* kind: such as "Namespace"; false: decisions do not use the kind. */
bool cluster_kind_find(enum cluster_kind *out, const char *kind);

/* Adds or replaces an object. -EBADMSG, -E2BIG: invalid; the old version
 * stays. */
must_check int cluster_put_object(struct cluster *cluster,
	enum cluster_kind kind, const struct json_value *object,
	struct error *err);
/* namespace_name: "" for cluster-scoped kinds. */
void cluster_remove_object(struct cluster *cluster, enum cluster_kind kind,
	const char *namespace_name, const char *name);

/* The labels of the Namespace object; NULL: there is no such object. */
const struct labels *cluster_namespace_labels(const struct cluster *cluster,
	const char *name);

/* The word of the Namespace object on moving its VMs. */
enum consent cluster_namespace_consent(const struct cluster *cluster,
	const char *name);

/* Iterates over the Namespace objects as map_next(). */
bool cluster_next_namespace(const struct cluster *cluster, size_t *at,
	const char **name, const struct labels **labels);

/* The node with this label kubernetes.io/hostname; NULL: none. */
const struct node *cluster_node_of_host(const struct cluster *cluster,
	const char *hostname);

/* ---- copies ---- */

/* Zeroed: at the start. */
struct cluster_walk {
	unsigned map;
	struct map_walk walk;
};

/* Makes out have SHARED_MAP_STEP further objects of from, which may change
 * between two calls: see cluster/shared_map.h. These are the objects of all
 * kinds, what is assumed of them, and the failures of VMs. False: out has
 * all. */
bool cluster_share_next(struct cluster *out, const struct cluster *from,
	struct cluster_walk *walk);

/* Frees SHARED_MAP_STEP of these. False: none is left. */
bool cluster_drop_next(struct cluster *cluster, struct cluster_walk *walk);
