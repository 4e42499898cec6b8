#include "scheduler/filter/affinity.h"

#include <stddef.h>

void affinity_fini(struct affinity *affinity)
{
	pairs_fini(&affinity->existing);
	pairs_fini(&affinity->wanted);
	pairs_fini(&affinity->unwanted);
	pairs_fini(&affinity->points);
}

/* Adds to the domain the node is in; nothing if it is in none. */
static void count(struct pairs *pairs, const struct pod_term *term,
	const struct node *node, int64_t by)
{
	uint32_t value = labels_get(&node->labels, term->topology_key);

	if (value != 0) {
		pairs_add(pairs, term->topology_key, value, by);
	}
}

static struct term_subject subject_of(const struct pod *pod,
	const struct cluster *cluster, bool needs_namespace)
{
	return (struct term_subject){
		.names = pod->names,
		.namespace = pod->namespace_id,
		.labels = &pod->labels,
		.namespace_labels = needs_namespace
			? cluster_namespace_labels(cluster, pod->namespace)
			: NULL,
	};
}

static bool select_namespaces(const struct pod_terms *terms)
{
	for (size_t i = 0; i < terms->count; i++) {
		if (terms->list[i].of_namespaces.is_something) {
			return true;
		}
	}
	return false;
}

/* ---- terms of pods that run, about the pod to place ---- */

static void add_terms(struct pairs *pairs, const struct pod_terms *terms,
	const struct term_subject *subject, const struct node *node, int sign)
{
	for (size_t i = 0; i < terms->count; i++) {
		const struct pod_term *term = &terms->list[i];

		if (pod_term_means(term, subject)) {
			count(pairs, term, node, (int64_t)sign * term->weight);
		}
	}
}

static void add_resident(struct affinity *a, const struct resident *resident,
	const struct term_subject *subject)
{
	const struct pod_affinity *has = &resident->pod->affinity;
	const struct node *node = resident->node;

	add_terms(&a->existing, &has->required_anti, subject, node, 1);
	add_terms(&a->points, &has->required, subject, node,
		AFFINITY_HARD_WEIGHT);
	add_terms(&a->points, &has->preferred, subject, node, 1);
	add_terms(&a->points, &has->preferred_anti, subject, node, -1);
}

/* ---- terms of the pod to place, about pods that run ---- */

static bool meets_all(const struct pod_terms *terms,
	const struct term_subject *subject)
{
	for (size_t i = 0; i < terms->count; i++) {
		if (!pod_term_means_placed(&terms->list[i], subject)) {
			return false;
		}
	}
	return terms->count > 0;
}

static void add_meant(struct pairs *pairs, const struct pod_terms *terms,
	const struct term_subject *subject, const struct node *node, int sign)
{
	for (size_t i = 0; i < terms->count; i++) {
		const struct pod_term *term = &terms->list[i];

		if (pod_term_means_placed(term, subject)) {
			count(pairs, term, node, (int64_t)sign * term->weight);
		}
	}
}

static void add_required(struct affinity *a, const struct term_subject *subject,
	const struct node *node, int sign)
{
	const struct pod_affinity *has = &a->pod->affinity;

	if (meets_all(&has->required, subject)) {
		for (size_t i = 0; i < has->required.count; i++) {
			count(&a->wanted, &has->required.list[i], node, sign);
		}
	}
	add_meant(&a->unwanted, &has->required_anti, subject, node, sign);
}

static void add_guest(struct affinity *a, const struct term_subject *subject,
	const struct node *node)
{
	const struct pod_affinity *has = &a->pod->affinity;

	add_required(a, subject, node, 1);
	add_meant(&a->points, &has->preferred, subject, node, 1);
	add_meant(&a->points, &has->preferred_anti, subject, node, -1);
}

static void add_guests(struct affinity *a, const struct cluster *cluster)
{
	const struct pod_affinity *has = &a->pod->affinity;
	/* To look each namespace up takes longer than all the rest. */
	bool needs_namespace = select_namespaces(&has->required) ||
		select_namespaces(&has->required_anti) ||
		select_namespaces(&has->preferred) ||
		select_namespaces(&has->preferred_anti);

	for (size_t i = 0; i < cluster->count; i++) {
		const struct node *node = cluster->nodes[i];

		for (size_t k = 0; k < node->guest_count; k++) {
			const struct term_subject subject = subject_of(
				node->guests[k].pod, cluster, needs_namespace);

			add_guest(a, &subject, node);
		}
	}
}

void affinity_prepare(struct affinity *affinity, const struct pod *pod,
	const struct cluster *cluster)
{
	const struct term_subject subject = subject_of(pod, cluster, true);
	struct affinity *a = affinity;

	a->pod = pod;
	pairs_clear(&a->existing);
	pairs_clear(&a->wanted);
	pairs_clear(&a->unwanted);
	pairs_clear(&a->points);
	for (size_t i = 0; i < cluster->affine_count; i++) {
		add_resident(a, &cluster->affine[i], &subject);
	}
	if (pod_affinity_is_any(&pod->affinity)) {
		add_guests(a, cluster);
	}
	a->matches_itself = meets_all(&pod->affinity.required, &subject);
	a->is_idle = a->existing.used == 0 &&
		pod->affinity.required.count == 0 &&
		pod->affinity.required_anti.count == 0;
}

void affinity_count_pod(struct affinity *affinity,
	const struct cluster *cluster, const struct resident *resident,
	int sign)
{
	const struct term_subject itself =
		subject_of(affinity->pod, cluster, true);
	const struct term_subject other =
		subject_of(resident->pod, cluster, true);

	add_terms(&affinity->existing, &resident->pod->affinity.required_anti,
		&itself, resident->node, sign);
	add_required(affinity, &other, resident->node, sign);
}

/* ---- one node ---- */

static bool is_met(const struct affinity *a, const struct node *node)
{
	const struct pod_terms *terms = &a->pod->affinity.required;
	bool has_pods = true;

	for (size_t i = 0; i < terms->count; i++) {
		uint32_t key = terms->list[i].topology_key;
		uint32_t value = labels_get(&node->labels, key);

		if (value == 0) {
			return false;
		}
		has_pods &= pairs_get(&a->wanted, key, value) > 0;
	}
	/* The first of a group that wants to be together may go anywhere. */
	return has_pods || (a->wanted.nonzero == 0 && a->matches_itself);
}

static bool is_unwanted(const struct affinity *a, const struct node *node)
{
	const struct pod_terms *terms = &a->pod->affinity.required_anti;

	for (size_t i = 0; i < terms->count; i++) {
		uint32_t key = terms->list[i].topology_key;
		uint32_t value = labels_get(&node->labels, key);

		if (value != 0 && pairs_get(&a->unwanted, key, value) > 0) {
			return true;
		}
	}
	return false;
}

static bool is_closed(const struct affinity *a, const struct node *node)
{
	for (size_t i = 0; i < a->existing.key_count; i++) {
		uint32_t key = a->existing.keys[i];
		uint32_t value = labels_get(&node->labels, key);

		if (value != 0 && pairs_get(&a->existing, key, value) > 0) {
			return true;
		}
	}
	return false;
}

enum affinity_verdict affinity_filter(const struct affinity *affinity,
	const struct node *node)
{
	if (affinity->is_idle) {
		return AFFINITY_FITS;
	}
	if (!is_met(affinity, node)) {
		return AFFINITY_NOT_MET;
	}
	if (is_unwanted(affinity, node)) {
		return AFFINITY_UNWANTED;
	}
	return is_closed(affinity, node) ? AFFINITY_EXISTING : AFFINITY_FITS;
}

bool affinity_has_points(const struct affinity *affinity)
{
	return affinity->points.used > 0;
}

int64_t affinity_points(const struct affinity *affinity,
	const struct node *node)
{
	int64_t points = 0;

	for (size_t i = 0; i < affinity->points.key_count; i++) {
		uint32_t key = affinity->points.keys[i];
		uint32_t value = labels_get(&node->labels, key);

		if (value != 0) {
			points += pairs_get(&affinity->points, key, value);
		}
	}
	return points;
}
