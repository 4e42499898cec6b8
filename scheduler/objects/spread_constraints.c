#include "scheduler/objects/spread_constraints.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"

/* What the API server lets through is within 32 bits and above 0. */
static int32_t count_at(const struct value *object, const char *key,
	int32_t otherwise)
{
	double number = 0;

	if (!value_number(&number, value_get(object, key)) || number < 1 ||
		number > INT32_MAX) {
		return otherwise;
	}
	return (int32_t)number;
}

static bool is_text(const struct value *object, const char *key,
	const char *text)
{
	return strcmp(value_text_at(object, key, ""), text) == 0;
}

static void add_label_keys(struct spread_rule *rule, struct names *names,
	const struct value *keys, const struct labels *labels)
{
	for (const struct value *v = value_first(keys); v != NULL;
		v = value_next(v)) {
		uint32_t key;
		uint32_t value;

		if (value_text(v) == NULL) {
			continue;
		}
		key = names_hold(names, value_text(v));
		value = labels_get(labels, key);
		if (value != 0) {
			label_selector_add(&rule->selector, names, key, value);
		}
		names_drop(names, key);
	}
}

static int check_keys(const struct value *keys, struct error *err)
{
	if (value_count(keys) > LABEL_SELECTOR_REQUIREMENTS_MAX) {
		return error_set(err, -E2BIG,
			"a topology spread constraint has more than %d "
			"matchLabelKeys",
			LABEL_SELECTOR_REQUIREMENTS_MAX);
	}
	return 0;
}

static int read_rule(struct spread_rule *out, struct names *names,
	const struct value *object, const struct labels *labels,
	struct error *err)
{
	const char *key = value_text_at(object, "topologyKey", "");
	const struct value *keys = value_get(object, "matchLabelKeys");
	struct spread_rule rule = {
		.is_hostname = strcmp(key, "kubernetes.io/hostname") == 0,
		.is_hard =
			!is_text(object, "whenUnsatisfiable", "ScheduleAnyway"),
		.honors_affinity =
			!is_text(object, "nodeAffinityPolicy", "Ignore"),
		.honors_taints = is_text(object, "nodeTaintsPolicy", "Honor"),
		.max_skew = count_at(object, "maxSkew", 1),
		.min_domains = count_at(object, "minDomains", 1),
	};
	int r = check_keys(keys, err);

	if (r == 0) {
		r = label_selector_read(&rule.selector, names,
			value_get(object, "labelSelector"), err);
	}
	if (r < 0) {
		return r;
	}
	rule.topology_key = names_hold(names, key);
	add_label_keys(&rule, names, keys, labels);
	*out = rule;
	return 0;
}

int spread_rules_read(struct spread_rules *out, struct names *names,
	const struct value *list, const struct labels *pod_labels,
	struct error *err)
{
	struct spread_rules rules = { 0 };
	int r = 0;

	if (list != NULL && !value_is_null(list) && !value_is_array(list)) {
		return error_set(err, -EBADMSG,
			"topology spread constraints are not a list");
	}
	if (value_count(list) > SPREAD_RULES_MAX) {
		return error_set(err, -E2BIG,
			"more than %d topology spread constraints",
			SPREAD_RULES_MAX);
	}
	rules.list = xcalloc(value_count(list) + 1, sizeof(*rules.list));
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		struct spread_rule *rule = &rules.list[rules.count];

		r = read_rule(rule, names, v, pod_labels, err);
		if (r < 0) {
			spread_rules_fini(&rules, names);
			return r;
		}
		rules.count++;
		rules.hard_count += rule->is_hard;
	}
	*out = rules;
	return 0;
}

void spread_rules_fini(struct spread_rules *rules, struct names *names)
{
	for (size_t i = 0; i < rules->count; i++) {
		names_drop(names, rules->list[i].topology_key);
		label_selector_fini(&rules->list[i].selector, names);
	}
	free(rules->list);
	*rules = (struct spread_rules){ 0 };
}
