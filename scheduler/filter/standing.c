#include "scheduler/filter/standing.h"

#include "lib/memory.h"
#include "scheduler/filter/filter.h"

#include <stddef.h>
#include <string.h>

/* ---- the pod and the node alone ---- */

/* KubeVirt adds the other labels to the selectors of its pods, and sets them on
 * nodes. */
static bool is_of_people(const char *key)
{
	static const char domain[] = "kubevirt.io";
	const char *slash = strchr(key, '/');
	size_t len = slash == NULL ? 0 : (size_t)(slash - key);
	size_t tail = sizeof(domain) - 1;

	if (strcmp(key, "cpumanager") == 0) {
		return false;
	}
	return len < tail || strncmp(slash - tail, domain, tail) != 0 ||
		(len > tail && slash[-(ptrdiff_t)tail - 1] != '.');
}

static bool selects(const struct pod *next, const struct node *node)
{
	const struct labels *selector = &next->node_selector;

	for (size_t i = 0; i < labels_slot_count(selector); i++) {
		const struct label *wanted = &selector->slots[i];

		if (wanted->key != 0 &&
			labels_get(&node->labels, wanted->key) !=
				wanted->value &&
			is_of_people(
				interner_text(next->interner, wanted->key))) {
			return false;
		}
	}
	return true;
}

uint64_t standing_by_rules(const struct pod *next, const struct node *node)
{
	if (!taints_of_people_tolerated(&node->taints, &next->tolerations)) {
		return FILTER_BIT(REASON_TAINT);
	}
	return selects(next, node) && node_has_affinity(node, next)
		? 0
		: FILTER_BIT(REASON_AFFINITY);
}

/* ---- other pods ---- */

bool standing_needs_counts(const struct pod *next)
{
	return next->affinity.required.count > 0 ||
		next->affinity.required_anti.count > 0 ||
		next->spread.hard_count > 0;
}

bool standing_prepare(struct standing *standing, const struct cluster *cluster,
	const struct pod *next, const struct pod_on_node *running)
{
	struct prefilter *prefilter = &standing->prefilter;

	prefilter_run(prefilter, next, cluster);
	if (prefilter->refusal != NULL) {
		return false;
	}
	affinity_count_pod(&prefilter->affinity, cluster, running, -1);
	spread_count_pod(&prefilter->spread, running->pod, running->node, -1);
	return true;
}

uint64_t standing_by_counts(const struct standing *standing,
	const struct node *node)
{
	return filter_by_counts(&standing->prefilter, node) &
		~FILTER_BIT(REASON_EXISTING_ANTI_AFFINITY);
}

const char *standing_text(uint64_t reasons)
{
	static const struct {
		enum filter_reason reason;
		const char *text;
	} texts[] = {
		{ REASON_TAINT, "it does not tolerate a taint of the node" },
		{ REASON_AFFINITY,
			"its node selector or node affinity does not admit "
			"the node" },
		{ REASON_SPREAD, "its topology spread is exceeded there" },
		{ REASON_SPREAD_LABEL,
			"the node has no label of its topology spread" },
		{ REASON_POD_AFFINITY, "its pod affinity is not met there" },
		{ REASON_POD_ANTI_AFFINITY,
			"its pod anti-affinity is violated there" },
	};
	size_t i = 0;

	while (i + 1 < count_of(texts) &&
		(reasons & FILTER_BIT(texts[i].reason)) == 0) {
		i++;
	}
	return texts[i].text;
}

void standing_fini(struct standing *standing)
{
	prefilter_fini(&standing->prefilter);
}
