#include "scheduler/filter/spread.h"

#include <math.h>
#include <stdlib.h>

#include "lib/memory.h"

void spread_fini(struct spread *spread)
{
	for (size_t i = 0; i < spread->capacity; i++) {
		pairs_fini(&spread->counts[i].domains);
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

static uint32_t domain_of(const struct spread_rule *rule,
	const struct node *node)
{
	return labels_get(&node->labels, rule->topology_key);
}

/* The node is in a domain of each constraint of this kind. */
static bool has_domains(const struct spread *spread, const struct node *node,
	bool are_hard)
{
	for (size_t i = 0; i < spread->count; i++) {
		const struct spread_rule *rule = spread->counts[i].rule;

		if (rule->is_hard == are_hard && domain_of(rule, node) == 0) {
			return false;
		}
	}
	return true;
}

static bool is_admitted(const struct pod *pod, const struct spread_rule *rule,
	const struct node *node)
{
	if (rule->honors_affinity && !node_is_selected(node, pod)) {
		return false;
	}
	return !rule->honors_taints ||
		taints_tolerated(&node->taints, &pod->tolerations);
}

static int64_t count_pods(const struct pod *pod, const struct spread_rule *rule,
	const struct node *node)
{
	int64_t count = 0;

	if (label_selector_is_empty(&rule->selector)) {
		return 0;
	}
	for (size_t i = 0; i < node->guest_count; i++) {
		const struct pod *guest = node->guests[i].pod;

		count += guest->namespace_id == pod->namespace_id &&
			!guest->is_deleting &&
			label_selector_matches(&rule->selector, guest->names,
				&guest->labels);
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

		if (c->rule->is_hard &&
			is_admitted(spread->pod, c->rule, node)) {
			pairs_add(&c->domains, c->rule->topology_key,
				domain_of(c->rule, node),
				count_pods(spread->pod, c->rule, node));
		}
	}
}

static void settle_least(struct spread_count *c)
{
	int64_t least = INT32_MAX;
	const struct pair_slot *slot;
	size_t at = 0;

	while ((slot = pairs_next(&c->domains, &at)) != NULL) {
		least = slot->count < least ? slot->count : least;
	}
	c->least = c->domains.used < (size_t)c->rule->min_domains ? 0 : least;
}

void spread_prepare(struct spread *spread, const struct pod *pod,
	const struct cluster *cluster)
{
	const struct spread_rules *rules = &pod->spread;

	spread->pod = pod;
	spread->count = rules->count;
	spread->hard_count = rules->hard_count;
	spread->soft_count = rules->count - rules->hard_count;
	reserve(spread, rules->count);
	for (size_t i = 0; i < rules->count; i++) {
		struct spread_count *c = &spread->counts[i];

		c->rule = &rules->list[i];
		c->weight = 0;
		c->selects_pod = label_selector_matches(&c->rule->selector,
			pod->names, &pod->labels);
		pairs_clear(&c->domains);
	}
	if (spread->hard_count == 0) {
		return;
	}
	for (size_t i = 0; i < cluster->count; i++) {
		count_node(spread, cluster->nodes[i]);
	}
	for (size_t i = 0; i < spread->count; i++) {
		settle_least(&spread->counts[i]);
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

		if (c->rule->is_hard &&
			label_selector_matches(&c->rule->selector, pod->names,
				&pod->labels) &&
			is_admitted(spread->pod, c->rule, node)) {
			pairs_add(&c->domains, c->rule->topology_key,
				domain_of(c->rule, node), sign);
			settle_least(c);
		}
	}
}

enum spread_verdict spread_filter(const struct spread *spread,
	const struct node *node)
{
	for (size_t i = 0; i < spread->count && spread->hard_count > 0; i++) {
		const struct spread_count *c = &spread->counts[i];
		uint32_t domain = domain_of(c->rule, node);

		if (!c->rule->is_hard) {
			continue;
		}
		if (domain == 0) {
			return SPREAD_NO_LABEL;
		}
		if (pairs_get(&c->domains, c->rule->topology_key, domain) +
				c->selects_pod - c->least >
			c->rule->max_skew) {
			return SPREAD_SKEWED;
		}
	}
	return SPREAD_FITS;
}

/* ---- soft constraints ---- */

/* Hosts are as many domains as there are nodes: they are counted, not kept. */
void spread_soft_note(struct spread *spread, const struct node *node)
{
	if (!has_domains(spread, node, false)) {
		return;
	}
	for (size_t i = 0; i < spread->count; i++) {
		struct spread_count *c = &spread->counts[i];

		if (c->rule->is_hard) {
			continue;
		}
		if (c->rule->is_hostname) {
			c->weight++;
		} else {
			pairs_add(&c->domains, c->rule->topology_key,
				domain_of(c->rule, node), 0);
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
		uint32_t key = c->rule->topology_key;
		uint32_t domain = domain_of(c->rule, node);

		if (!c->rule->is_hard && !c->rule->is_hostname &&
			pairs_have(&c->domains, key, domain) &&
			is_admitted(spread->pod, c->rule, node)) {
			pairs_add(&c->domains, key, domain,
				count_pods(spread->pod, c->rule, node));
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
		double size = c->rule->is_hostname ? c->weight
						   : (double)c->domains.used;

		if (!c->rule->is_hard) {
			c->weight = log(size + 2);
		}
	}
}

int64_t spread_crowd(const struct spread *spread, const struct node *node)
{
	double crowd = 0;

	if (!has_domains(spread, node, false)) {
		return -1;
	}
	for (size_t i = 0; i < spread->count; i++) {
		const struct spread_count *c = &spread->counts[i];
		const struct spread_rule *rule = c->rule;
		int64_t pods;

		if (rule->is_hard) {
			continue;
		}
		pods = rule->is_hostname
			? count_pods(spread->pod, rule, node)
			: pairs_get(&c->domains, rule->topology_key,
				  domain_of(rule, node));
		crowd +=
			(double)pods * c->weight + (double)(rule->max_skew - 1);
	}
	return llround(crowd);
}
