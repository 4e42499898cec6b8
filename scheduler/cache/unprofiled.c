#include "scheduler/cache/unprofiled.h"

#include <string.h>

void unprofiled_init(struct unprofiled *unprofiled)
{
	*unprofiled = (struct unprofiled){ 0 };
	TAILQ_INIT(&unprofiled->list);
}

void unprofiled_fini(struct unprofiled *unprofiled)
{
	map_fini(&unprofiled->last);
}

void unprofiled_add(struct unprofiled *unprofiled, struct unprofiled_pod *pod)
{
	struct unprofiled_pod *last = map_get(&unprofiled->last, pod->node);

	if (last == NULL) {
		TAILQ_INSERT_TAIL(&unprofiled->list, pod, link);
	} else {
		TAILQ_INSERT_AFTER(&unprofiled->list, last, pod, link);
	}
	(void)map_put(&unprofiled->last, pod->node, pod);
}

void unprofiled_remove(struct unprofiled *unprofiled,
	struct unprofiled_pod *pod)
{
	struct unprofiled_pod *before = TAILQ_PREV(pod, unprofiled_list, link);
	bool is_last = map_get(&unprofiled->last, pod->node) == pod;

	if (is_last && before != NULL && strcmp(before->node, pod->node) == 0) {
		(void)map_put(&unprofiled->last, pod->node, before);
	} else if (is_last) {
		(void)map_remove(&unprofiled->last, pod->node);
	}
	TAILQ_REMOVE(&unprofiled->list, pod, link);
}

void *unprofiled_take(struct unprofiled *unprofiled)
{
	struct unprofiled_pod *first = TAILQ_FIRST(&unprofiled->list);

	if (first == NULL) {
		return NULL;
	}
	unprofiled_remove(unprofiled, first);
	return first->pod;
}
