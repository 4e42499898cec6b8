#include "scheduler/cache/vm_index.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

static void pods_free(struct vm_pods *pods)
{
	if (pods != NULL) {
		free(pods->list);
		free(pods);
	}
}

void vm_index_fini(struct vm_index *index)
{
	size_t at = 0;
	void *value;

	while (map_next(&index->by_vmi, &at, NULL, &value)) {
		pods_free(value);
	}
	map_fini(&index->by_vmi);
}

/* The caller frees it. */
static char *key_of(const char *namespace, const char *vmi_uid)
{
	return xasprintf("%s/%s", namespace, vmi_uid);
}

static bool is_indexed(const struct pod *pod)
{
	return pod->is_launcher && *pod->vmi_uid != '\0' &&
		pod->original == NULL;
}

static struct vm_pods *find(const struct vm_index *index, const char *namespace,
	const char *vmi_uid)
{
	scoped_free char *key = key_of(namespace, vmi_uid);

	return map_get(&index->by_vmi, key);
}

void vm_index_add(struct vm_index *index, const struct pod *pod)
{
	scoped_free char *key = NULL;
	struct vm_pods *pods;

	if (!is_indexed(pod)) {
		return;
	}
	key = key_of(pod->namespace, pod->vmi_uid);
	pods = map_get(&index->by_vmi, key);
	if (pods == NULL) {
		pods = xcalloc(1, sizeof(*pods));
		(void)map_put(&index->by_vmi, key, pods);
	}
	pods->list = xgrow(pods->list, pods->count, &pods->capacity,
		sizeof(struct pod *));
	pods->list[pods->count++] = pod;
}

void vm_index_remove(struct vm_index *index, const struct pod *pod)
{
	scoped_free char *key = key_of(pod->namespace, pod->vmi_uid);
	struct vm_pods *pods =
		!is_indexed(pod) ? NULL : map_get(&index->by_vmi, key);

	for (size_t i = 0; pods != NULL && i < pods->count; i++) {
		if (pods->list[i] == pod) {
			pods->list[i] = pods->list[--pods->count];
			break;
		}
	}
	if (pods != NULL && pods->count == 0) {
		pods_free(map_remove(&index->by_vmi, key));
	}
}

const struct vm_pods *vm_index_pods(const struct vm_index *index,
	const char *namespace, const char *vmi_uid)
{
	return find(index, namespace, vmi_uid);
}

static bool is_source(const struct pod *pod)
{
	return pod->is_vm && !pod->is_provisional && !pod->is_target &&
		!pod->is_deleting && pod->phase == POD_RUNNING;
}

const struct pod *vm_index_source(const struct vm_index *index,
	const struct pod *target)
{
	const struct vm_pods *pods =
		find(index, target->namespace, target->vmi_uid);

	for (size_t i = 0; pods != NULL && i < pods->count; i++) {
		if (is_source(pods->list[i])) {
			return pods->list[i];
		}
	}
	return NULL;
}
