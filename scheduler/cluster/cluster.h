/* What a decision looks at: the nodes with their pods, and the objects that
 * pods' constraints speak of.
 *
 * Holds indexes, so that a decision about a pod without constraints looks at
 * nodes alone. Fed by the watches (cache.h) or from a file (score_cmd.h). Times
 * are the caller's. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "lib/map.h"
#include "scheduler/objects/labels.h"
#include "scheduler/objects/interner.h"
#include "scheduler/cluster/node.h"
#include "scheduler/objects/pod.h"
#include "scheduler/cluster/storage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A pod on a node that has terms of affinity or anti-affinity itself. */
struct resident {
	const struct pod *pod;	 /* borrowed */
	const struct node *node; /* borrowed */
};

/* A zeroed one with nodes of the caller's is ready for a decision. */
struct cluster {
	struct names *names; /* borrowed */
	struct node **nodes; /* owned, and so are they; in no order */
	size_t count, capacity;
	struct resident *affine; /* owned */
	size_t affine_count, affine_capacity;
	const struct pod **nominees; /* owned; the pods are not: nominees.h */
	size_t nominee_count, nominee_capacity;
	struct map namespaces; /* name -> struct labels of the Namespace */
	struct storage storage;
};

void cluster_init(struct cluster *cluster, struct names *names);
void cluster_fini(struct cluster *cluster); /* before the names */

/* Takes node, which has no pods yet. */
void cluster_add_node(struct cluster *cluster, struct node *node);
/* Frees node; its pods are the caller's. */
void cluster_remove_node(struct cluster *cluster, struct node *node);

/* node_add_pod() and node_remove_pod(), and what a decision must know of pods
 * by other ways. The pod stays the caller's, and there until it is removed. */
void cluster_place(struct cluster *cluster, struct node *node,
	const struct pod *pod, int64_t bound_us);
void cluster_unplace(struct cluster *cluster, struct node *node,
	const struct pod *pod);

/* A pod without a node that was nominated for one: see nominees.h. It stays the
 * caller's, and there until it is taken back. */
void cluster_nominate(struct cluster *cluster, const struct pod *pod);
void cluster_unnominate(struct cluster *cluster, const struct pod *pod);

/* What constraints speak of, beside nodes and pods. */
enum cluster_kind {
	CLUSTER_STORAGE, /* from here on one for each enum storage_kind */
	CLUSTER_NAMESPACES = CLUSTER_STORAGE + STORAGE_KINDS,
	CLUSTER_KINDS,
};

/* "/api/v1/namespaces". */
const char *cluster_kind_path(enum cluster_kind kind);

/* By an object's kind, such as "Namespace"; false: none a decision knows. */
bool cluster_kind_find(enum cluster_kind *out, const char *kind);

/* An object of this kind as it is now. -EBADMSG, -E2BIG: not one we understand;
 * what was known of it stays. */
must_check int cluster_put_object(struct cluster *cluster,
	enum cluster_kind kind, const struct value *object, struct error *err);
/* namespace_name: "" for kinds without. */
void cluster_remove_object(struct cluster *cluster, enum cluster_kind kind,
	const char *namespace_name, const char *name);

/* Of the Namespace object, or NULL if there is none. */
const struct labels *cluster_namespace_labels(const struct cluster *cluster,
	const char *name);
