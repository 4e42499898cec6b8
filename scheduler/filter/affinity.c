#include "scheduler/filter/affinity.h"

#include <stddef.h>

void affinity_fini(struct affinity *affinity)
{
	topology_counts_fini(&affinity->existing_anti);
	topology_counts_fini(&affinity->affine);
	topology_counts_fini(&affinity->anti);
	topology_counts_fini(&affinity->scores);
}

/* Adds to the node's domain, if it has one. */
static void count(struct topology_counts *counts,
	const struct pod_affinity_term *term, const struct node *node,
	int64_t by)
{
	uint32_t value = labels_get(&node->labels, term->topology_key);

	if (value != 0) {
		topology_counts_add(counts, term->topology_key, value, by);
	}
}

static struct pod_affinity_subject subject_of(const struct pod *pod,
	const struct cluster *cluster, bool needs_namespace)
{
	return (struct pod_affinity_subject){
		.interner = pod->interner,
		.namespace = pod->namespace_id,
		.labels = &pod->labels,
		.namespace_labels = needs_namespace
			? cluster_namespace_labels(cluster, pod->namespace)
			: NULL,
	};
}

typedef bool (*term_matches)(const struct pod_affinity_term *term,
	const struct pod_affinity_subject *subject);

/* Adds the weights of the terms that match. */
static inline void add_terms(struct topology_counts *counts,
	const struct pod_affinity_terms *terms, term_matches matches,
	const struct pod_affinity_subject *subject, const struct node *node,
	int sign)
{
	for (size_t i = 0; i < terms->count; i++) {
		const struct pod_affinity_term *term = &terms->list[i];

		if (matches(term, subject)) {
			count(counts, term, node, (int64_t)sign * term->weight);
		}
	}
}

static bool select_namespaces(const struct pod_affinity_terms *terms)
{
	for (size_t i = 0; i < terms->count; i++) {
		if (!terms->list[i].namespace_selector.is_invalid) {
			return true;
		}
	}
	return false;
}

/* ---- terms of existing pods, about the incoming pod ---- */

static void add_existing(struct affinity *a, const struct pod_on_node *existing,
	const struct pod_affinity_subject *subject)
{
	const struct pod_affinity *has = &existing->pod->affinity;
	const struct node *node = existing->node;

	add_terms(&a->existing_anti, &has->required_anti,
		pod_affinity_existing_matches, subject, node, 1);
	add_terms(&a->scores, &has->required, pod_affinity_existing_matches,
		subject, node, AFFINITY_HARD_WEIGHT);
	add_terms(&a->scores, &has->preferred, pod_affinity_existing_matches,
		subject, node, 1);
	add_terms(&a->scores, &has->preferred_anti,
		pod_affinity_existing_matches, subject, node, -1);
}

/* ---- terms of the incoming pod, about existing pods ---- */

static bool matches_all(const struct pod_affinity_terms *terms,
	const struct pod_affinity_subject *subject)
{
	for (size_t i = 0; i < terms->count; i++) {
		if (!pod_affinity_incoming_matches(&terms->list[i], subject)) {
			return false;
		}
	}
	return terms->count > 0;
}

static void add_required(struct affinity *a,
	const struct pod_affinity_subject *subject, const struct node *node,
	int sign)
{
	const struct pod_affinity *has = &a->pod->affinity;

	if (matches_all(&has->required, subject)) {
		for (size_t i = 0; i < has->required.count; i++) {
			count(&a->affine, &has->required.list[i], node, sign);
		}
	}
	add_terms(&a->anti, &has->required_anti, pod_affinity_incoming_matches,
		subject, node, sign);
}

static void add_other(struct affinity *a,
	const struct pod_affinity_subject *subject, const struct node *node)
{
	const struct pod_affinity *has = &a->pod->affinity;

	add_required(a, subject, node, 1);
	add_terms(&a->scores, &has->preferred, pod_affinity_incoming_matches,
		subject, node, 1);
	add_terms(&a->scores, &has->preferred_anti,
		pod_affinity_incoming_matches, subject, node, -1);
}

static void add_others(struct affinity *a, const struct cluster *cluster)
{
	const struct pod_affinity *has = &a->pod->affinity;
	/* Namespace look-ups would take longer than everything else. */
	bool needs_namespace = select_namespaces(&has->required) ||
		select_namespaces(&has->required_anti) ||
		select_namespaces(&has->preferred) ||
		select_namespaces(&has->preferred_anti);

	for (size_t i = 0; i < cluster->count; i++) {
		const struct node *node = cluster->nodes[i];

		for (size_t k = 0; k < node->pod_count; k++) {
			const struct pod_affinity_subject subject = subject_of(
				node->pods[k].pod, cluster, needs_namespace);

			add_other(a, &subject, node);
		}
	}
}

static void clear(struct affinity *a, const struct pod *pod,
	const struct pod_affinity_subject *subject)
{
	a->pod = pod;
	topology_counts_clear(&a->existing_anti);
	topology_counts_clear(&a->affine);
	topology_counts_clear(&a->anti);
	topology_counts_clear(&a->scores);
	a->matches_itself = matches_all(&pod->affinity.required, subject);
}

void affinity_settle(struct affinity *affinity)
{
	const struct pod_affinity *has = &affinity->pod->affinity;

	affinity->is_skipped = affinity->existing_anti.used == 0 &&
		has->required.count == 0 && has->required_anti.count == 0;
}

void affinity_begin(struct affinity *affinity, const struct pod *pod,
	const struct cluster *cluster)
{
	const struct pod_affinity_subject subject =
		subject_of(pod, cluster, true);

	clear(affinity, pod, &subject);
}

void affinity_prepare(struct affinity *affinity, const struct pod *pod,
	const struct cluster *cluster)
{
	const struct pod_affinity_subject subject =
		subject_of(pod, cluster, true);
	struct affinity *a = affinity;

	clear(a, pod, &subject);
	for (size_t i = 0; i < cluster->affinity_pod_count; i++) {
		add_existing(a, &cluster->affinity_pods[i], &subject);
	}
	if (pod_affinity_has_terms(&pod->affinity)) {
		add_others(a, cluster);
	}
	affinity_settle(a);
}

void affinity_count_pod(struct affinity *affinity,
	const struct cluster *cluster, const struct pod_on_node *existing,
	int sign)
{
	const struct pod_affinity_subject itself =
		subject_of(affinity->pod, cluster, true);
	const struct pod_affinity_subject other =
		subject_of(existing->pod, cluster, true);

	add_terms(&affinity->existing_anti,
		&existing->pod->affinity.required_anti,
		pod_affinity_existing_matches, &itself, existing->node, sign);
	add_required(affinity, &other, existing->node, sign);
}

/* ---- one node ---- */

static bool satisfies_affinity(const struct affinity *a,
	const struct node *node)
{
	const struct pod_affinity_terms *terms = &a->pod->affinity.required;
	bool has_pods = true;

	for (size_t i = 0; i < terms->count; i++) {
		uint32_t key = terms->list[i].topology_key;
		uint32_t value = labels_get(&node->labels, key);

		if (value == 0) {
			return false;
		}
		has_pods &= topology_counts_get(&a->affine, key, value) > 0;
	}
	/* The first pod of a group with affinity to itself fits anywhere. */
	return has_pods || (a->affine.nonzero == 0 && a->matches_itself);
}

static bool violates_anti_affinity(const struct affinity *a,
	const struct node *node)
{
	const struct pod_affinity_terms *terms =
		&a->pod->affinity.required_anti;

	for (size_t i = 0; i < terms->count; i++) {
		uint32_t key = terms->list[i].topology_key;
		uint32_t value = labels_get(&node->labels, key);

		if (value != 0 &&
			topology_counts_get(&a->anti, key, value) > 0) {
			return true;
		}
	}
	return false;
}

static bool violates_existing(const struct affinity *a, const struct node *node)
{
	for (size_t i = 0; i < a->existing_anti.key_count; i++) {
		uint32_t key = a->existing_anti.keys[i];
		uint32_t value = labels_get(&node->labels, key);

		if (value != 0 &&
			topology_counts_get(&a->existing_anti, key, value) >
				0) {
			return true;
		}
	}
	return false;
}

enum affinity_verdict affinity_filter(const struct affinity *affinity,
	const struct node *node)
{
	if (affinity->is_skipped) {
		return AFFINITY_FITS;
	}
	if (!satisfies_affinity(affinity, node)) {
		return AFFINITY_NOT_MET;
	}
	if (violates_anti_affinity(affinity, node)) {
		return AFFINITY_ANTI;
	}
	return violates_existing(affinity, node) ? AFFINITY_EXISTING_ANTI
						 : AFFINITY_FITS;
}

bool affinity_has_scores(const struct affinity *affinity)
{
	return affinity->scores.used > 0;
}

int64_t affinity_score(const struct affinity *affinity, const struct node *node)
{
	int64_t points = 0;

	for (size_t i = 0; i < affinity->scores.key_count; i++) {
		uint32_t key = affinity->scores.keys[i];
		uint32_t value = labels_get(&node->labels, key);

		if (value != 0) {
			points += topology_counts_get(&affinity->scores, key,
				value);
		}
	}
	return points;
}
