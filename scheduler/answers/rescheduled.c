#include "scheduler/answers/rescheduled.h"

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

static void copy_nodes(struct rescheduled *rescheduled,
	const struct cluster *cluster, const struct node *old)
{
	rescheduled->nodes = xcalloc(cluster->count + 1, sizeof(struct node *));
	for (size_t i = 0; i < cluster->count; i++) {
		rescheduled->nodes[i] = cluster->nodes[i] == old
			? rescheduled->node
			: cluster->nodes[i];
	}
	rescheduled->cluster.nodes = rescheduled->nodes;
}

static void copy_affinity_pods(struct rescheduled *rescheduled,
	const struct cluster *cluster, const struct pod *pod)
{
	size_t count = 0;

	rescheduled->affinity_pods = xcalloc(cluster->affinity_pod_count + 1,
		sizeof(*rescheduled->affinity_pods));
	for (size_t i = 0; i < cluster->affinity_pod_count; i++) {
		if (cluster->affinity_pods[i].pod != pod) {
			rescheduled->affinity_pods[count++] =
				cluster->affinity_pods[i];
		}
	}
	rescheduled->cluster.affinity_pods = rescheduled->affinity_pods;
	rescheduled->cluster.affinity_pod_count = count;
}

/* ---- the pod ---- */

/* The target pod of a migration requires the host name that the migration
 * chose. The VM does not. */
static void free_hostname(struct rescheduled *rescheduled)
{
	struct interner *interner = rescheduled->pod.interner;
	uint32_t hostname = interner_find(interner, "kubernetes.io/hostname");
	uint32_t job = interner_find(interner, "kubevirt.io/migrationJobUID");

	if (labels_get(&rescheduled->pod.labels, job) != 0 &&
		labels_get(&rescheduled->pod.node_selector, hostname) != 0) {
		rescheduled->selector = labels_without(
			&rescheduled->pod.node_selector, hostname);
		rescheduled->pod.node_selector = rescheduled->selector;
	}
}

void rescheduled_init(struct rescheduled *rescheduled,
	const struct cache *cache, const struct pod *pod,
	const struct node *node)
{
	static char nowhere[1];
	const struct cluster *cluster = &cache->cluster;

	*rescheduled = (struct rescheduled){ .cluster = *cluster };
	rescheduled->shared = cache_share_pod(cache, pod->uid);
	rescheduled->pod = *rescheduled->shared;
	rescheduled->pod.node_name = nowhere;
	rescheduled->pod.nominated_node = nowhere;
	rescheduled->pod.is_target = false;
	free_hostname(rescheduled);
	rescheduled->node = node_without(node, pod);
	copy_nodes(rescheduled, cluster, node);
	copy_affinity_pods(rescheduled, cluster, pod);
}

void rescheduled_fini(struct rescheduled *rescheduled)
{
	node_free(rescheduled->node);
	free(rescheduled->nodes);
	free(rescheduled->affinity_pods);
	free(rescheduled->selector.slots);
	pod_free(rescheduled->shared);
	*rescheduled = (struct rescheduled){ 0 };
}
