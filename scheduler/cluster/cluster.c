#include "scheduler/cluster/cluster.h"

#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct namespace
{
	struct labels labels;
	enum consent consent;
	unsigned copies; /* clusters that have it beside the first */
};

void cluster_init(struct cluster *cluster, struct interner *interner)
{
	*cluster = (struct cluster){ .interner = interner };
}

static void *share_namespace(void *value)
{
	struct namespace *shared = value;

	shared->copies++;
	return shared;
}

static void drop_namespace(void *value, struct interner *interner)
{
	struct namespace *old = value;

	if (old != NULL && old->copies > 0) {
		old->copies--;
	} else if (old != NULL) {
		labels_fini(&old->labels, interner);
		free(old);
	}
}

static const struct shared_values namespace_values = { share_namespace,
	drop_namespace };

void cluster_fini(struct cluster *cluster)
{
	shared_map_fini(&cluster->namespaces, &namespace_values,
		cluster->interner);
	storage_fini(&cluster->storage, cluster->interner);
	vm_failures_fini(&cluster->failures);
	for (size_t i = 0; i < cluster->count; i++) {
		node_free(cluster->nodes[i]);
	}
	free(cluster->nodes);
	free(cluster->affinity_pods);
	free(cluster->nominated_pods);
	kin_table_fini(&cluster->kin);
	*cluster = (struct cluster){ 0 };
}

void cluster_add_node(struct cluster *cluster, struct node *node)
{
	cluster->nodes = xgrow(cluster->nodes, cluster->count,
		&cluster->capacity, sizeof(struct node *));
	cluster->nodes[cluster->count++] = node;
}

void cluster_remove_node(struct cluster *cluster, struct node *node)
{
	size_t kept = 0;

	for (size_t i = 0; i < cluster->count; i++) {
		if (cluster->nodes[i] == node) {
			cluster->nodes[i] = cluster->nodes[--cluster->count];
			break;
		}
	}
	for (size_t i = 0; i < cluster->affinity_pod_count; i++) {
		if (cluster->affinity_pods[i].node != node) {
			cluster->affinity_pods[kept++] =
				cluster->affinity_pods[i];
		}
	}
	cluster->affinity_pod_count = kept;
	node_free(node);
}

static void index_pod(struct cluster *cluster, const struct node *node,
	const struct pod *pod)
{
	if (pod_affinity_has_terms(&pod->affinity)) {
		cluster->affinity_pods = xgrow(cluster->affinity_pods,
			cluster->affinity_pod_count,
			&cluster->affinity_pod_capacity,
			sizeof(*cluster->affinity_pods));
		cluster->affinity_pods[cluster->affinity_pod_count++] =
			(struct pod_on_node){ pod, node };
	}
}

void cluster_add_pod(struct cluster *cluster, struct node *node,
	const struct pod *pod, int64_t bound_us)
{
	node_add_pod(node, pod, bound_us);
	if (pod->is_vm && cluster->kin.learnt_us != 0) {
		node_vms_learn_kin(&node->vms, &cluster->kin);
	}
	index_pod(cluster, node, pod);
}

void cluster_add_counted_pod(struct cluster *cluster, struct node *node,
	const struct pod *pod, int64_t bound_us)
{
	node_add_counted_pod(node, pod, bound_us);
	index_pod(cluster, node, pod);
}

void cluster_remove_pod(struct cluster *cluster, struct node *node,
	const struct pod *pod)
{
	node_remove_pod(node, pod);
	for (size_t i = 0; i < cluster->affinity_pod_count; i++) {
		if (cluster->affinity_pods[i].pod == pod) {
			cluster->affinity_pods[i] =
				cluster->affinity_pods
					[--cluster->affinity_pod_count];
			return;
		}
	}
}

static const struct {
	const char *kind, *path;
} kinds[] = {
	[CLUSTER_STORAGE + STORAGE_CLAIMS] = { "PersistentVolumeClaim",
		"/api/v1/persistentvolumeclaims" },
	[CLUSTER_STORAGE + STORAGE_VOLUMES] = { "PersistentVolume",
		"/api/v1/persistentvolumes" },
	[CLUSTER_STORAGE + STORAGE_CLASSES] = { "StorageClass",
		"/apis/storage.k8s.io/v1/storageclasses" },
	[CLUSTER_STORAGE + STORAGE_CSI_NODES] = { "CSINode",
		"/apis/storage.k8s.io/v1/csinodes" },
	[CLUSTER_STORAGE + STORAGE_CSI_DRIVERS] = { "CSIDriver",
		"/apis/storage.k8s.io/v1/csidrivers" },
	[CLUSTER_STORAGE + STORAGE_CAPACITIES] = { "CSIStorageCapacity",
		"/apis/storage.k8s.io/v1/csistoragecapacities" },
	[CLUSTER_STORAGE + STORAGE_ATTACHMENTS] = { "VolumeAttachment",
		"/apis/storage.k8s.io/v1/volumeattachments" },
	[CLUSTER_NAMESPACES] = { "Namespace", "/api/v1/namespaces" },
};

const char *cluster_kind_path(enum cluster_kind kind)
{
	return kinds[kind].path;
}

bool cluster_kind_find(enum cluster_kind *out, const char *kind)
{
	for (size_t i = 0; i < count_of(kinds); i++) {
		if (strcmp(kinds[i].kind, kind) == 0) {
			*out = (enum cluster_kind)i;
			return true;
		}
	}
	return false;
}

void cluster_add_nominated(struct cluster *cluster, const struct pod *pod)
{
	cluster->nominated_pods =
		xgrow(cluster->nominated_pods, cluster->nominated_count,
			&cluster->nominated_capacity, sizeof(struct pod *));
	cluster->nominated_pods[cluster->nominated_count++] = pod;
}

void cluster_remove_nominated(struct cluster *cluster, const struct pod *pod)
{
	for (size_t i = 0; i < cluster->nominated_count; i++) {
		if (cluster->nominated_pods[i] == pod) {
			cluster->nominated_pods[i] =
				cluster->nominated_pods
					[--cluster->nominated_count];
			return;
		}
	}
}

static int put_namespace(struct cluster *cluster,
	const struct json_value *object, struct error *err)
{
	const char *name = json_value_text_at(object, "metadata/name", "");
	struct namespace fresh = { 0 };
	int r;

	if (*name == '\0') {
		return error_set(err, -EBADMSG, "a namespace has no name");
	}
	r = labels_read(&fresh.labels, cluster->interner,
		json_value_at(object, "metadata/labels"), err);
	if (r < 0) {
		return error_wrap(err, r, "namespace '%.100s'", name);
	}
	fresh.consent =
		consent_read(json_value_at(object, "metadata/annotations"));
	drop_namespace(map_put(&cluster->namespaces, name,
			       xmemdup(&fresh, sizeof(fresh))),
		cluster->interner);
	return 0;
}

int cluster_put_object(struct cluster *cluster, enum cluster_kind kind,
	const struct json_value *object, struct error *err)
{
	if (kind == CLUSTER_NAMESPACES) {
		return put_namespace(cluster, object, err);
	}
	return storage_put(&cluster->storage,
		(enum storage_kind)(kind - CLUSTER_STORAGE), cluster->interner,
		object, err);
}

void cluster_remove_object(struct cluster *cluster, enum cluster_kind kind,
	const char *namespace_name, const char *name)
{
	if (kind == CLUSTER_NAMESPACES) {
		drop_namespace(map_remove(&cluster->namespaces, name),
			cluster->interner);
		return;
	}
	storage_remove(&cluster->storage,
		(enum storage_kind)(kind - CLUSTER_STORAGE), cluster->interner,
		namespace_name, name);
}

const struct labels *cluster_namespace_labels(const struct cluster *cluster,
	const char *name)
{
	const struct namespace *found = map_get(&cluster->namespaces, name);

	return found == NULL ? NULL : &found->labels;
}

enum consent cluster_namespace_consent(const struct cluster *cluster,
	const char *name)
{
	const struct namespace *found = map_get(&cluster->namespaces, name);

	return found == NULL ? CONSENT_UNSET : found->consent;
}

bool cluster_next_namespace(const struct cluster *cluster, size_t *at,
	const char **name, const struct labels **labels)
{
	void *value;

	if (!map_next(&cluster->namespaces, at, name, &value)) {
		return false;
	}
	*labels = &((const struct namespace *)value)->labels;
	return true;
}

const struct node *cluster_node_of_host(const struct cluster *cluster,
	const char *hostname)
{
	for (size_t i = 0; i < cluster->count; i++) {
		const char *host = node_hostname(cluster->nodes[i]);

		if (host != NULL && strcmp(host, hostname) == 0) {
			return cluster->nodes[i];
		}
	}
	return NULL;
}

/* ---- copies ---- */

enum { FAILURES = CLUSTER_KINDS, ASSUMED_NODES, ASSUMED_UIDS, MAPS };

struct shared {
	struct map *map;
	const struct shared_values *values;
};

static struct shared shared_of(struct cluster *cluster, unsigned index)
{
	struct storage *storage = &cluster->storage;

	switch (index) {
	case CLUSTER_NAMESPACES:
		return (struct shared){ &cluster->namespaces,
			&namespace_values };
	case FAILURES:
		return (struct shared){ &cluster->failures.by_vm,
			&vm_failures_values };
	case ASSUMED_NODES:
		return (struct shared){ &storage->assumed_nodes,
			&storage_text_values };
	case ASSUMED_UIDS:
		return (struct shared){ &storage->assumed_uids,
			&storage_text_values };
	default:
		return (struct shared){ &storage->maps[index - CLUSTER_STORAGE],
			&storage_object_values };
	}
}

bool cluster_share_next(struct cluster *out, const struct cluster *from,
	struct cluster_walk *walk)
{
	struct cluster source = *from; /* the same maps */
	struct shared map;

	if (walk->map == MAPS) {
		return false;
	}
	map = shared_of(out, walk->map);
	if (!shared_map_copy(map.map, shared_of(&source, walk->map).map,
		    &walk->walk, map.values, out->interner)) {
		walk->map++;
		walk->walk = (struct map_walk){ 0 };
	}
	return true;
}

bool cluster_drop_next(struct cluster *cluster, struct cluster_walk *walk)
{
	struct shared map;

	if (walk->map == MAPS) {
		return false;
	}
	map = shared_of(cluster, walk->map);
	if (!shared_map_free(map.map, &walk->walk.at, map.values,
		    cluster->interner)) {
		walk->map++;
		walk->walk = (struct map_walk){ 0 };
	}
	return true;
}
