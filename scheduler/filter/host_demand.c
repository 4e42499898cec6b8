#include "scheduler/filter/host_demand.h"

#include "lib/memory.h"

#include <string.h>

/* NodeSelectorRenderer.Render() of KubeVirt 1.9 and createTargetPod(). */
static const struct {
	const char *prefix, *kind;
} demands[] = {
	{ "cpu-model-migration.node.kubevirt.io/", "CPU model" },
	{ "cpu-model.node.kubevirt.io/", "CPU model" },
	{ "cpu-vendor.node.kubevirt.io/", "CPU vendor" },
	{ "cpu-feature.node.kubevirt.io/", "CPU feature" },
	{ "machine-type.node.kubevirt.io/", "machine type" },
	{ "hyperv.node.kubevirt.io/", "Hyper-V feature" },
	{ "scheduling.node.kubevirt.io/tsc-frequency-", "TSC frequency" },
};

enum { DEMANDS = count_of(demands) };

/* The row of a key; DEMANDS: a key that people wrote. */
static size_t row_of(const char *key)
{
	size_t row = 0;

	while (row < DEMANDS &&
		strncmp(key, demands[row].prefix,
			strlen(demands[row].prefix)) != 0) {
		row++;
	}
	return row;
}

bool host_demand_unmet(struct host_demand *out, const struct pod *pod,
	const struct node *node)
{
	const struct labels *wanted = &pod->node_selector;
	struct host_demand unmet = { 0 };
	size_t first = DEMANDS;

	*out = (struct host_demand){ 0 };
	for (size_t i = 0; i < labels_slot_count(wanted); i++) {
		const struct label *label = &wanted->slots[i];
		const char *key;
		size_t row;

		if (label->key == 0 ||
			labels_get(&node->labels, label->key) == label->value) {
			continue;
		}
		key = interner_text(pod->interner, label->key);
		row = row_of(key);
		if (row == DEMANDS) {
			return false;
		}
		key += strlen(demands[row].prefix);
		if (row < first ||
			(row == first && strcmp(key, unmet.name) < 0)) {
			first = row;
			unmet = (struct host_demand){ demands[row].kind, key };
		}
	}
	if (first == DEMANDS || !node_has_affinity(node, pod)) {
		return false;
	}
	*out = unmet;
	return true;
}

void host_demand_tell(struct buffer *out, const struct host_demand *demand,
	const struct node *node)
{
	buffer_printf(out, "its %s %s is not on %s", demand->kind, demand->name,
		node->name);
}

/* ---- many nodes ---- */

static int compare(const struct host_demand *a, const struct host_demand *b)
{
	int order = strcmp(a->kind, b->kind);

	return order != 0 ? order : strcmp(a->name, b->name);
}

/* The list is sorted, so that the order of the nodes does not matter. */
bool host_demand_count(struct host_demand_counts *counts, const struct pod *pod,
	const struct node *node)
{
	struct host_demand_nodes *list = counts->list;
	struct host_demand demand;
	size_t i = 0;

	if (!host_demand_unmet(&demand, pod, node)) {
		return false;
	}
	while (i < counts->count && compare(&list[i].demand, &demand) < 0) {
		i++;
	}
	if (i == counts->count || compare(&list[i].demand, &demand) != 0) {
		if (counts->count == HOST_DEMANDS_MAX) {
			return false;
		}
		(void)memmove(&list[i + 1], &list[i],
			(counts->count++ - i) * sizeof(*list));
		list[i] = (struct host_demand_nodes){ demand, 0 };
	}
	list[i].nodes++;
	return true;
}

/* The first of equals. */
static size_t most_of(const struct host_demand_counts *counts)
{
	size_t most = 0;

	for (size_t i = 1; i < counts->count; i++) {
		if (counts->list[i].nodes > counts->list[most].nodes) {
			most = i;
		}
	}
	return most;
}

void host_demand_tell_none(struct buffer *out,
	const struct host_demand_counts *counts, bool runs)
{
	const struct host_demand *demand =
		&counts->list[most_of(counts)].demand;

	if (counts->count > 0) {
		buffer_printf(out, "its %s %s is on no %snode with room",
			demand->kind, demand->name, runs ? "other " : "");
	}
}

static void tell_count(struct buffer *out, size_t nodes)
{
	buffer_printf(out, "%zu node%s without ", nodes, nodes == 1 ? "" : "s");
}

void host_demand_tell_counts(struct buffer *out,
	const struct host_demand_counts *counts)
{
	size_t most = most_of(counts);

	if (counts->count > 0) {
		tell_count(out, counts->list[most].nodes);
		buffer_text(out, "it");
	}
	for (size_t i = 0; i < counts->count; i++) {
		if (i != most) {
			buffer_text(out, ", ");
			tell_count(out, counts->list[i].nodes);
			buffer_printf(out, "its %s %s",
				counts->list[i].demand.kind,
				counts->list[i].demand.name);
		}
	}
}
