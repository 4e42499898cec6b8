#include "scheduler/answers/subject.h"

#include "scheduler/kubevirt/vmi.h"

#include <errno.h>
#include <string.h>

static bool has_name(const struct pod *pod, const char *name)
{
	return strcmp(pod->name, name) == 0;
}

/* A temporary pod holds room for the VM, which does not run in it. */
static bool has_vm_name(const struct pod *pod, const char *name)
{
	return pod->is_vm && !pod->is_provisional &&
		strcmp(pod->vm_name, name) == 0;
}

/* The pod in which a VM runs comes first. */
static int rank(const struct pod *pod)
{
	return (pod->phase == POD_RUNNING ? 4 : 0) + (pod->is_target ? 0 : 2) +
		(pod->is_deleting ? 0 : 1);
}

static void keep_better(struct subject *best, const struct subject *one)
{
	if (best->pod == NULL || rank(one->pod) > rank(best->pod)) {
		*best = *one;
	}
}

struct wanted {
	const char *namespace, *name;
	bool (*matches)(const struct pod *pod, const char *name);
};

/* Room that is reserved for a VM is no pod of its own. */
static void consider(struct subject *best, const struct subject *one,
	const struct wanted *wanted)
{
	if (one->pod != NULL && one->pod->original == NULL &&
		strcmp(one->pod->namespace, wanted->namespace) == 0 &&
		wanted->matches(one->pod, wanted->name)) {
		keep_better(best, one);
	}
}

static void find_bound(struct subject *best, const struct cluster *cluster,
	const struct wanted *wanted)
{
	for (size_t i = 0; i < cluster->count; i++) {
		const struct node *node = cluster->nodes[i];

		for (size_t k = 0; k < node->pod_count; k++) {
			const struct subject one = { .pod = node->pods[k].pod,
				.node = node };

			consider(best, &one, wanted);
		}
	}
}

static void find_pending(struct subject *best, const struct queue *queue,
	const struct wanted *wanted)
{
	size_t at = 0;
	void *value;

	while (map_next(&queue->by_uid, &at, NULL, &value)) {
		struct queued_pod *queued = value;
		const struct subject one = { .pod = queued->pod,
			.queued = queued };

		consider(best, &one, wanted);
	}
}

static void find(struct subject *out, const struct cache *cache,
	const struct queue *queue, const struct wanted *wanted)
{
	*out = (struct subject){ 0 };
	find_bound(out, &cache->cluster, wanted);
	find_pending(out, queue, wanted);
}

int subject_find_pod(struct subject *out, const struct cache *cache,
	const struct queue *queue, const char *namespace, const char *name,
	struct error *err)
{
	const struct wanted wanted = { namespace, name, has_name };

	find(out, cache, queue, &wanted);
	return out->pod != NULL
		? 0
		: error_set(err, -ENOENT,
			  "no pod %s/%s is known that has a node or waits for "
			  "this scheduler",
			  namespace, name);
}

int subject_find_vm(struct subject *out, const struct cache *cache,
	const struct queue *queue, const char *namespace, const char *name,
	struct error *err)
{
	const struct wanted wanted = { namespace, name, has_vm_name };

	find(out, cache, queue, &wanted);
	return out->pod != NULL
		? 0
		: error_set(err, -ENOENT,
			  "the VM %s/%s does not run; ask with its manifest",
			  namespace, name);
}

void subject_find_vmi(struct subject *out, const struct cache *cache,
	const struct vmi *vmi)
{
	const struct wanted wanted = { vmi->namespace, vmi->name, has_vm_name };
	const struct vm_pods *pods =
		vm_index_pods(&cache->vms, vmi->namespace, vmi->uid);

	*out = (struct subject){ 0 };
	for (size_t i = 0; pods != NULL && i < pods->count; i++) {
		const struct subject one = {
			.pod = pods->list[i],
			.node = cache_node(cache, pods->list[i]->node_name),
		};

		consider(out, &one, &wanted);
	}
}
