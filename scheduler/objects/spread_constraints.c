#include "scheduler/objects/spread_constraints.h"

#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "scheduler/objects/value_list.h"

/* The API server allows 1 to INT32_MAX. */
static int32_t count_at(const struct json_value *object, const char *key,
	int32_t otherwise)
{
	double number = 0;

	if (!json_value_number(&number, json_value_get(object, key)) ||
		number < 1 || number > INT32_MAX) {
		return otherwise;
	}
	return (int32_t)number;
}

static bool is_text(const struct json_value *object, const char *key,
	const char *text)
{
	return strcmp(json_value_text_at(object, key, ""), text) == 0;
}

static void add_label_keys(struct spread_constraint *constraint,
	struct interner *interner, const struct json_value *keys,
	const struct labels *labels)
{
	for (const struct json_value *v = json_value_first(keys); v != NULL;
		v = json_value_next(v)) {
		const char *key = json_value_text(v);
		uint32_t value = key == NULL
			? 0
			: labels_get(labels, interner_find(interner, key));

		if (value != 0) {
			label_selector_add(&constraint->selector, interner, key,
				interner_text(interner, value));
		}
	}
}

static struct spread_constraint read_constraint(struct interner *interner,
	const struct json_value *object, const struct labels *labels)
{
	const char *key = json_value_text_at(object, "topologyKey", "");
	struct spread_constraint constraint = {
		.topology_key = interner_hold(interner, key),
		.is_hostname = strcmp(key, "kubernetes.io/hostname") == 0,
		.is_hard =
			!is_text(object, "whenUnsatisfiable", "ScheduleAnyway"),
		.honors_affinity =
			!is_text(object, "nodeAffinityPolicy", "Ignore"),
		.honors_taints = is_text(object, "nodeTaintsPolicy", "Honor"),
		.max_skew = count_at(object, "maxSkew", 1),
		.min_domains = count_at(object, "minDomains", 1),
	};

	label_selector_read(&constraint.selector, interner,
		json_value_get(object, "labelSelector"));
	add_label_keys(&constraint, interner,
		json_value_get(object, "matchLabelKeys"), labels);
	return constraint;
}

int spread_constraints_read(struct spread_constraints *out,
	struct interner *interner, const struct json_value *list,
	const struct labels *pod_labels, struct error *err)
{
	struct spread_constraints constraints = { 0 };
	int r = value_list_check(list, "topology spread constraints", err);

	if (r < 0) {
		return r;
	}
	constraints.list =
		xcalloc(json_value_count(list) + 1, sizeof(*constraints.list));
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		struct spread_constraint *constraint =
			&constraints.list[constraints.count++];

		*constraint = read_constraint(interner, v, pod_labels);
		constraints.hard_count += constraint->is_hard;
	}
	*out = constraints;
	return 0;
}

void spread_constraints_fini(struct spread_constraints *constraints,
	struct interner *interner)
{
	for (size_t i = 0; i < constraints->count; i++) {
		interner_drop(interner, constraints->list[i].topology_key);
		label_selector_fini(&constraints->list[i].selector, interner);
	}
	free(constraints->list);
	*constraints = (struct spread_constraints){ 0 };
}
