#include "kube/label_selector.h"

#include <stdlib.h>

#include "lib/memory.h"

static void append(struct label_selector *selector, uint32_t key,
	uint32_t value)
{
	struct requirement *r = &selector->list[selector->count++];

	*r = (struct requirement){
		.operator= REQUIREMENT_IN,
		.key = key,
		.values = xcalloc(1, sizeof(*r->values)),
		.json_value_count = 1,
	};
	r->values[0] = value;
}

static bool read_match_labels(struct label_selector *selector,
	struct interner *interner, const struct json_value *match_labels)
{
	for (const struct json_value *v = json_value_first(match_labels);
		v != NULL; v = json_value_next(v)) {
		if (json_value_key(v) == NULL || json_value_text(v) == NULL) {
			return false;
		}
		append(selector, interner_hold(interner, json_value_key(v)),
			interner_hold(interner, json_value_text(v)));
	}
	return true;
}

/* Label selectors have no Gt and Lt. */
static bool read_expressions(struct label_selector *selector,
	struct interner *interner, const struct json_value *expressions)
{
	for (const struct json_value *v = json_value_first(expressions);
		v != NULL; v = json_value_next(v)) {
		struct requirement *r = &selector->list[selector->count++];

		if (!requirement_read(r, interner, v, false) ||
			r->operator>= REQUIREMENT_GT) {
			return false;
		}
	}
	return true;
}

void label_selector_read(struct label_selector *out, struct interner *interner,
	const struct json_value *object)
{
	const struct json_value *match_labels =
		json_value_get(object, "matchLabels");
	const struct json_value *expressions =
		json_value_get(object, "matchExpressions");
	struct label_selector selector = { 0 };

	if (json_value_is_object(object)) {
		selector.list = xcalloc(json_value_count(match_labels) +
				json_value_count(expressions),
			sizeof(*selector.list));
		selector.is_valid =
			read_match_labels(&selector, interner, match_labels) &&
			read_expressions(&selector, interner, expressions);
	}
	*out = selector;
}

void label_selector_fini(struct label_selector *selector,
	struct interner *interner)
{
	for (size_t i = 0; i < selector->count; i++) {
		requirement_fini(&selector->list[i], interner);
	}
	free(selector->list);
	*selector = (struct label_selector){ 0 };
}

void label_selector_add(struct label_selector *selector,
	struct interner *interner, uint32_t key, uint32_t value)
{
	selector->list = xrealloc(selector->list, selector->count + 1,
		sizeof(*selector->list));
	append(selector, interner_hold(interner, interner_text(interner, key)),
		interner_hold(interner, interner_text(interner, value)));
}

bool label_selector_is_empty(const struct label_selector *selector)
{
	return selector->is_valid && selector->count == 0;
}

bool label_selector_matches(const struct label_selector *selector,
	const struct interner *interner, const struct labels *labels)
{
	static const struct labels none = { 0 };
	const struct requirement_subject subject = {
		.interner = interner,
		.labels = labels != NULL ? labels : &none,
	};

	for (size_t i = 0; i < selector->count; i++) {
		if (!requirement_matches(&selector->list[i], &subject)) {
			return false;
		}
	}
	return selector->is_valid;
}
