#include "scheduler/answers/anew.h"

#include "lib/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the node ---- */

/* Unknown stays unknown, which fmax() would make 0. */
static double without(double figure, double part)
{
	double rest = figure - part;

	return isnan(rest) ? rest : fmax(rest, 0);
}

/* The node's figures as they would be without this use. */
static void relieve(struct node_metrics *m, double cores, double bytes)
{
	m->used_cores = without(m->used_cores, cores);
	m->used_cores_5m = without(m->used_cores_5m, cores);
	m->used_cores_latest = without(m->used_cores_latest, cores);
	m->used_cores_15m = without(m->used_cores_15m, cores);
	m->used_bytes_15m = without(m->used_bytes_15m, bytes);
	m->memory_available = m->memory_total -
		without(m->memory_total - m->memory_available, bytes);
}

static const struct node_vm *find_vm(const struct node *node, const char *uid)
{
	for (size_t i = 0; i < node->vms.count; i++) {
		if (strncmp(node->vms.list[i].uid, uid,
			    sizeof(node->vms.list[i].uid) - 1) == 0) {
			return &node->vms.list[i];
		}
	}
	return NULL;
}

static struct node *node_without(const struct node *node, const struct pod *pod)
{
	struct node *copy = node_copy(node);
	const struct node_vm *vm = find_vm(copy, pod->uid);
	double cores = 0, bytes = 0;

	if (vm != NULL && vm->charge.is_seen) {
		cores = vm->model.seen_cores;
		bytes = vm->charge.seen_memory_bytes;
	}
	for (size_t i = 0; i < node->pod_count; i++) {
		node_add_counted_pod(copy, node->pods[i].pod,
			node->pods[i].bound_us);
	}
	node_vacate(copy, pod);
	relieve(&copy->metrics, cores, bytes);
	return copy;
}

/* ---- the cluster ---- */

static void copy_nodes(struct anew *anew, const struct cluster *cluster,
	const struct node *old)
{
	anew->nodes = xcalloc(cluster->count + 1, sizeof(struct node *));
	for (size_t i = 0; i < cluster->count; i++) {
		anew->nodes[i] = cluster->nodes[i] == old ? anew->node
							  : cluster->nodes[i];
	}
	anew->cluster.nodes = anew->nodes;
}

static void copy_affinity_pods(struct anew *anew, const struct cluster *cluster,
	const struct pod *pod)
{
	size_t count = 0;

	anew->affinity_pods = xcalloc(cluster->affinity_pod_count + 1,
		sizeof(*anew->affinity_pods));
	for (size_t i = 0; i < cluster->affinity_pod_count; i++) {
		if (cluster->affinity_pods[i].pod != pod) {
			anew->affinity_pods[count++] =
				cluster->affinity_pods[i];
		}
	}
	anew->cluster.affinity_pods = anew->affinity_pods;
	anew->cluster.affinity_pod_count = count;
}

/* ---- the pod ---- */

/* The target pod of a migration requires the host name that the migration
 * chose. The VM does not. */
static void free_hostname(struct anew *anew)
{
	struct interner *interner = anew->pod.interner;
	uint32_t hostname = interner_find(interner, "kubernetes.io/hostname");
	uint32_t job = interner_find(interner, "kubevirt.io/migrationJobUID");

	if (labels_get(&anew->pod.labels, job) != 0 &&
		labels_get(&anew->pod.node_selector, hostname) != 0) {
		anew->selector =
			labels_without(&anew->pod.node_selector, hostname);
		anew->pod.node_selector = anew->selector;
	}
}

void anew_init(struct anew *anew, const struct cache *cache,
	const struct pod *pod, const struct node *node)
{
	static char nowhere[1];
	const struct cluster *cluster = &cache->cluster;

	*anew = (struct anew){ .cluster = *cluster };
	anew->shared = cache_share_pod(cache, pod->uid);
	anew->pod = *anew->shared;
	anew->pod.node_name = nowhere;
	anew->pod.nominated_node = nowhere;
	anew->pod.is_target = false;
	free_hostname(anew);
	anew->node = node_without(node, pod);
	copy_nodes(anew, cluster, node);
	copy_affinity_pods(anew, cluster, pod);
}

void anew_fini(struct anew *anew)
{
	node_free(anew->node);
	free(anew->nodes);
	free(anew->affinity_pods);
	free(anew->selector.slots);
	pod_free(anew->shared);
	*anew = (struct anew){ 0 };
}
