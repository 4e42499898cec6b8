#include "scheduler/kubevirt/node_counters.h"

#include "lib/memory.h"

#include <stdlib.h>

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
	const char *target, bool is_ours)
{
	struct kubevirt_node *node;

	counters->migrations++;
	counters->counted++;
	if (*source != '\0') {
		node = counter(counters, source);
		node->out++;
		node->foreign_out += !is_ours;
	}
	if (*target != '\0') {
		node = counter(counters, target);
		node->in++;
		node->foreign_in += !is_ours;
	}
}

void node_counters_evict(struct node_counters *counters, const char *node)
{
	counters->counted++;
	if (*node != '\0') {
		counter(counters, node)->is_evicting = true;
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
