#include "scheduler/filter/constraint_cost.h"

#include <stddef.h>

/* How often a decision reads what a preference is about: for its range, for the
 * score and for the best nodes. */
enum { PREFERENCE_READS = 3, TAINT_READS = 4 };

/* A spread constraint has a table of domains, which is not in the processor's
 * cache while nodes are read: measured, 600 ns for a node. */
enum { SPREAD_READS = 32 };

const char constraint_cost_refusal[] =
	"pod has affinity, tolerations and topology spread constraints that "
	"cost more than 10000000 comparisons with the nodes and pods of this "
	"cluster, which plimsoll-scheduler does not support";

_Static_assert(CONSTRAINT_COST_MAX == 10000000, "the refusal names it");

/* The parts with which one pod or node is compared. */
struct parts {
	uint64_t required;    /* node selector and required node affinity */
	uint64_t preferred;   /* preferred node affinity */
	uint64_t tolerations; /* for each taint */
	uint64_t affinity;    /* for each pod, and twice for each node */
	uint64_t spread;      /* for each pod, of all constraints */
	uint64_t constraints; /* their number, SPREAD_READS times for a node */
	/* Spread constraints that count admitted nodes alone. */
	uint64_t honors_affinity, honors_taints;
};

static uint64_t parts_of_nodes(const struct node_selector *selector)
{
	uint64_t parts = 0;

	for (size_t i = 0; i < selector->count; i++) {
		parts += 1 + selector->list[i].all.count;
	}
	return parts;
}

static uint64_t parts_of_terms(const struct pod_affinity_terms *terms)
{
	uint64_t parts = 0;

	for (size_t i = 0; i < terms->count; i++) {
		parts += 1 + terms->list[i].label_selector.count +
			terms->list[i].namespace_selector.count;
	}
	return parts;
}

/* Host names are as many domains as nodes, so a preference for them counts the
 * pods of a node whenever the node is scored. */
static void add_spread(struct parts *parts,
	const struct spread_constraint *constraint)
{
	uint64_t reads = constraint->is_hostname && !constraint->is_hard
		? PREFERENCE_READS
		: 1;

	parts->spread += reads * (1 + constraint->selector.count);
	parts->honors_affinity += constraint->honors_affinity;
	parts->honors_taints += constraint->honors_taints;
}

static struct parts parts_of(const struct pod *pod)
{
	const struct pod_affinity *affinity = &pod->affinity;
	struct parts parts = { .required = pod->node_selector.count +
			parts_of_nodes(&pod->required),
		.preferred = parts_of_nodes(&pod->preferred),
		.tolerations = pod->tolerations.count,
		.constraints = pod->spread.count,
		.affinity = parts_of_terms(&affinity->required) +
			parts_of_terms(&affinity->required_anti) +
			parts_of_terms(&affinity->preferred) +
			parts_of_terms(&affinity->preferred_anti) };

	for (size_t i = 0; i < pod->spread.count; i++) {
		add_spread(&parts, &pod->spread.list[i]);
	}
	return parts;
}

static uint64_t cost_of(const struct parts *parts, uint64_t nodes,
	uint64_t pods, uint64_t taints)
{
	uint64_t for_pod = parts->affinity + parts->spread;
	uint64_t for_node = parts->required +
		PREFERENCE_READS * parts->preferred + 2 * parts->affinity +
		SPREAD_READS * parts->constraints +
		parts->honors_affinity * parts->required;
	uint64_t for_taint =
		parts->tolerations * (TAINT_READS + parts->honors_taints);

	return nodes * for_node + pods * for_pod + taints * for_taint;
}

uint64_t constraint_cost(const struct pod *pod, const struct cluster *cluster)
{
	const struct parts parts = parts_of(pod);
	uint64_t pods = 0;
	uint64_t taints = 0;

	if (parts.required + parts.preferred + parts.tolerations +
			parts.affinity + parts.spread <=
		CONSTRAINT_PARTS_FREE) {
		return 0;
	}
	for (size_t i = 0; i < cluster->count; i++) {
		pods += cluster->nodes[i]->pod_count;
		taints += cluster->nodes[i]->taints.count;
	}
	return cost_of(&parts, cluster->count, pods, taints);
}

bool constraint_cost_exceeds(const struct pod *pod,
	const struct cluster *cluster)
{
	return constraint_cost(pod, cluster) > CONSTRAINT_COST_MAX;
}
