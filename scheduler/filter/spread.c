#include "scheduler/filter/spread.h"

#include <math.h>
#include <stdlib.h>

#include "lib/memory.h"

void spread_fini(struct spread *spread)
{
	for (size_t i = 0; i < spread->capacity; i++) {
		topology_counts_fini(&spread->counts[i].domains);
	}
	free(spread->counts);
	*spread = (struct spread){ 0 };
}

static void reserve(struct spread *spread, size_t count)
{
	if (count <= spread->capacity) {
		return;
	}
	spread->counts =
		xrealloc(spread->counts, count, sizeof(*spread->counts));
	for (size_t i = spread->capacity; i < count; i++) {
		spread->counts[i] = (struct spread_count){ 0 };
	}
	spread->capacity = count;
}

static uint32_t domain_of(const struct spread_constraint *constraint,
	const struct node *node)
{
	return labels_get(&node->labels, constraint->topology_key);
}

/* The node has a domain for each hard, or each soft, constraint. */
static bool has_domains(const struct spread *spread, const struct node *node,
	bool are_hard)
{
	for (size_t i = 0; i < spread->count; i++) {
		const struct spread_constraint *constraint =
			spread->counts[i].constraint;

		if (constraint->is_hard == are_hard &&
			domain_of(constraint, node) == 0) {
			return false;
		}
	}
	return true;
}

static bool is_admitted(const struct pod *pod,
	const struct spread_constraint *constraint, const struct node *node)
{
	if (constraint->honors_affinity && !node_is_selected(node, pod)) {
		return false;
	}
	return !constraint->honors_taints ||
		taints_tolerated(&node->taints, &pod->tolerations);
}

static int64_t count_pods(const struct pod *pod,
	const struct spread_constraint *constraint, const struct node *node)
{
	int64_t count = 0;

	if (label_selector_is_empty(&constraint->selector)) {
		return 0;
	}
	for (size_t i = 0; i < node->pod_count; i++) {
		const struct pod *other = node->pods[i].pod;

		count += other->namespace_id == pod->namespace_id &&
			!other->is_deleting &&
			label_selector_matches(&constraint->selector,
				other->interner, &other->labels);
	}
	return count;
}

/* ---- hard constraints ---- */

static void count_node(struct spread *spread, const struct node *node)
{
	if (!has_domains(spread, node, true)) {
		return;
	}
	for (size_t i = 0; i < spread->count; i++) {
		struct spread_count *c = &spread->counts[i];

		if (c->constraint->is_hard &&
			is_admitted(spread->pod, c->constraint, node)) {
			topology_counts_add(&c->domains,
				c->constraint->topology_key,
				domain_of(c->constraint, node),
				count_pods(spread->pod, c->constraint, node));
		}
	}
}

static void update_min_match(struct spread_count *c)
{
	int64_t min_match = INT32_MAX;
	const struct topology_count *slot;
	size_t at = 0;

	while ((slot = topology_counts_next(&c->domains, &at)) != NULL) {
		min_match = slot->count < min_match ? slot->count : min_match;
	}
	c->min_match = c->domains.used < (size_t)c->constraint->min_domains
		? 0
		: min_match;
}

void spread_clear(struct spread *spread, const struct pod *pod)
{
	spread->pod = pod;
	spread->count = 0;
	spread->hard_count = 0;
	spread->soft_count = 0;
}

void spread_prepare(struct spread *spread, const struct pod *pod,
	const struct cluster *cluster)
{
	const struct spread_constraints *constraints = &pod->spread;

	spread->pod = pod;
	spread->count = constraints->count;
	spread->hard_count = constraints->hard_count;
	spread->soft_count = constraints->count - constraints->hard_count;
	reserve(spread, constraints->count);
	for (size_t i = 0; i < constraints->count; i++) {
		struct spread_count *c = &spread->counts[i];

		c->constraint = &constraints->list[i];
		c->weight = 0;
		c->self_match = label_selector_matches(&c->constraint->selector,
			pod->interner, &pod->labels);
		topology_counts_clear(&c->domains);
	}
	if (spread->hard_count == 0) {
		return;
	}
	for (size_t i = 0; i < cluster->count; i++) {
		count_node(spread, cluster->nodes[i]);
	}
	for (size_t i = 0; i < spread->count; i++) {
		update_min_match(&spread->counts[i]);
	}
}

void spread_count_pod(struct spread *spread, const struct pod *pod,
	const struct node *node, int sign)
{
	if (spread->hard_count == 0 ||
		pod->namespace_id != spread->pod->namespace_id ||
		!has_domains(spread, node, true)) {
		return;
	}
	for (size_t i = 0; i < spread->count; i++) {
		struct spread_count *c = &spread->counts[i];

		if (c->constraint->is_hard &&
			label_selector_matches(&c->constraint->selector,
				pod->interner, &pod->labels) &&
			is_admitted(spread->pod, c->constraint, node)) {
			topology_counts_add(&c->domains,
				c->constraint->topology_key,
				domain_of(c->constraint, node), sign);
			update_min_match(c);
		}
	}
}

enum spread_verdict spread_filter(const struct spread *spread,
	const struct node *node)
{
	for (size_t i = 0; i < spread->count && spread->hard_count > 0; i++) {
		const struct spread_count *c = &spread->counts[i];
		uint32_t domain = domain_of(c->constraint, node);

		if (!c->constraint->is_hard) {
			continue;
		}
		if (domain == 0) {
			return SPREAD_NO_LABEL;
		}
		if (topology_counts_get(&c->domains,
			    c->constraint->topology_key, domain) +
				c->self_match - c->min_match >
			c->constraint->max_skew) {
			return SPREAD_SKEWED;
		}
	}
	return SPREAD_FITS;
}

/* ---- soft constraints ---- */

/* Hostnames are as many domains as nodes, so they are only counted. */
void spread_soft_add_domain(struct spread *spread, const struct node *node)
{
	if (!has_domains(spread, node, false)) {
		return;
	}
	for (size_t i = 0; i < spread->count; i++) {
		struct spread_count *c = &spread->counts[i];

		if (c->constraint->is_hard) {
			continue;
		}
		if (c->constraint->is_hostname) {
			c->weight++;
		} else {
			topology_counts_add(&c->domains,
				c->constraint->topology_key,
				domain_of(c->constraint, node), 0);
		}
	}
}

static void count_soft_node(struct spread *spread, const struct node *node)
{
	if (!has_domains(spread, node, false)) {
		return;
	}
	for (size_t i = 0; i < spread->count; i++) {
		struct spread_count *c = &spread->counts[i];
		uint32_t key = c->constraint->topology_key;
		uint32_t domain = domain_of(c->constraint, node);

		if (!c->constraint->is_hard && !c->constraint->is_hostname &&
			topology_counts_has(&c->domains, key, domain) &&
			is_admitted(spread->pod, c->constraint, node)) {
			topology_counts_add(&c->domains, key, domain,
				count_pods(spread->pod, c->constraint, node));
		}
	}
}

void spread_soft_count(struct spread *spread, const struct cluster *cluster)
{
	for (size_t i = 0; i < cluster->count; i++) {
		count_soft_node(spread, cluster->nodes[i]);
	}
	for (size_t i = 0; i < spread->count; i++) {
		struct spread_count *c = &spread->counts[i];
		double size = c->constraint->is_hostname
			? c->weight
			: (double)c->domains.used;

		if (!c->constraint->is_hard) {
			c->weight = log(size + 2);
		}
	}
}

int64_t spread_soft_score(const struct spread *spread, const struct node *node)
{
	double score = 0;

	if (!has_domains(spread, node, false)) {
		return -1;
	}
	for (size_t i = 0; i < spread->count; i++) {
		const struct spread_count *c = &spread->counts[i];
		const struct spread_constraint *constraint = c->constraint;
		int64_t pods;

		if (constraint->is_hard) {
			continue;
		}
		pods = constraint->is_hostname
			? count_pods(spread->pod, constraint, node)
			: topology_counts_get(&c->domains,
				  constraint->topology_key,
				  domain_of(constraint, node));
		score += (double)pods * c->weight +
			(double)(constraint->max_skew - 1);
	}
	return llround(score);
}
