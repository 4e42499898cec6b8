#include "kube/label_selector.h"

#include "lib/memory.h"

#include <stdlib.h>

struct requirement *label_selector_append(struct label_selector *selector)
{
	struct requirement *r;

	selector->list = xgrow_at(selector->list, selector->count,
		sizeof(*selector->list));
	r = &selector->list[selector->count++];
	*r = (struct requirement){ 0 };
	return r;
}

void label_selector_add(struct label_selector *selector,
	struct interner *interner, const char *key, const char *value)
{
	struct requirement *r = label_selector_append(selector);

	r->key = interner_hold(interner, key);
	requirement_add_value(r, interner, value);
}

void label_selector_add_expressions(struct label_selector *selector,
	struct interner *interner, const struct json_value *list,
	enum requirement_kind kind)
{
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		selector->is_invalid |= !requirement_read(
			label_selector_append(selector), interner, v, kind);
	}
}

static void add_labels(struct label_selector *selector,
	struct interner *interner, const struct json_value *labels)
{
	for (const struct json_value *v = json_value_first(labels); v != NULL;
		v = json_value_next(v)) {
		if (json_value_key(v) == NULL || json_value_text(v) == NULL) {
			selector->is_invalid = true;
		} else {
			label_selector_add(selector, interner,
				json_value_key(v), json_value_text(v));
		}
	}
}

void label_selector_read(struct label_selector *out, struct interner *interner,
	const struct json_value *object)
{
	struct label_selector selector = { .is_invalid = !json_value_is_object(
						   object) };

	add_labels(&selector, interner, json_value_get(object, "matchLabels"));
	label_selector_add_expressions(&selector, interner,
		json_value_get(object, "matchExpressions"),
		REQUIREMENT_OF_LABEL);
	/* Label selectors have no Gt and Lt. */
	for (size_t i = 0; i < selector.count; i++) {
		selector.is_invalid |= selector.list[i].op >= REQUIREMENT_GT;
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

bool label_selector_is_empty(const struct label_selector *selector)
{
	return !selector->is_invalid && selector->count == 0;
}

bool label_selector_matches_subject(const struct label_selector *selector,
	const struct requirement_subject *subject)
{
	for (size_t i = 0; i < selector->count && !selector->is_invalid; i++) {
		if (!requirement_matches(&selector->list[i], subject)) {
			return false;
		}
	}
	return !selector->is_invalid;
}

bool label_selector_matches(const struct label_selector *selector,
	const struct interner *interner, const struct labels *labels)
{
	static const struct labels none = { 0 };

	return label_selector_matches_subject(selector,
		&(struct requirement_subject){
			.interner = interner,
			.labels = labels != NULL ? labels : &none,
		});
}
