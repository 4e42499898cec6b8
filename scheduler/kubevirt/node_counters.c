#include "scheduler/kubevirt/node_counters.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

void node_counters_fini(struct node_counters *counters)
{
	size_t at = 0;
	void *value;

	while (map_next(&counters->nodes, &at, NULL, &value)) {
		free(value);
	}
	map_fini(&counters->nodes);
	*counters = (struct node_counters){ 0 };
}

static struct kubevirt_node *counter(struct node_counters *counters,
	const char *name)
{
	struct kubevirt_node *node = map_get(&counters->nodes, name);

	if (node == NULL) {
		node = xcalloc(1, sizeof(*node));
		(void)map_put(&counters->nodes, name, node);
	}
	return node;
}

void node_counters_add(struct node_counters *counters, const char *source,
	const char *target)
{
	counters->migrations++;
	if (*source != '\0') {
		counter(counters, source)->out++;
	}
	if (*target != '\0') {
		counter(counters, target)->in++;
	}
}

/* The first by name, so that a sentence stays the same. */
static void name(struct kubevirt_node *node, const struct others_work *work)
{
	const struct others_work *old = &node->work;
	int order = old->namespace == NULL
		? -1
		: strcmp(work->namespace, old->namespace);

	if (order == 0) {
		order = strcmp(work->vm, old->vm);
	}
	if (order < 0 || (order == 0 && *old->migration == '\0')) {
		node->work = *work;
	}
}

void node_counters_hold(struct node_counters *counters, const char *source,
	const char *target, const struct others_work *work)
{
	struct kubevirt_node *node;

	counters->foreign++;
	if (*source != '\0') {
		node = counter(counters, source);
		node->foreign_out++;
		name(node, work);
	}
	if (*target != '\0') {
		node = counter(counters, target);
		node->foreign_in++;
		name(node, work);
	}
}

void node_counters_evict(struct node_counters *counters, const char *node,
	const struct others_work *work)
{
	if (*node != '\0') {
		counter(counters, node)->is_evicting = true;
		name(counter(counters, node), work);
	}
}

void node_counters_drain(struct node_counters *counters, const char *node)
{
	if (*node != '\0') {
		counter(counters, node)->drains++;
	}
}

bool node_counters_are_full(const struct node_counters *counters)
{
	return counters->counted >= NODE_COUNTERS_MAX;
}

struct kubevirt_node node_counters_get(const struct node_counters *counters,
	const char *node)
{
	static const struct kubevirt_node none;
	const struct kubevirt_node *found = map_get(&counters->nodes, node);
	struct kubevirt_node out = found == NULL ? none : *found;

	out.is_evicting |= node_counters_are_full(counters);
	return out;
}
