#include "scheduler/objects/label_selector.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/memory.h"

static int check_sizes(const struct value *pairs, const struct value *list,
	struct error *err)
{
	if (value_count(pairs) > LABEL_SELECTOR_REQUIREMENTS_MAX ||
		value_count(list) > LABEL_SELECTOR_REQUIREMENTS_MAX) {
		return error_set(err, -E2BIG,
			"a label selector has more than %d requirements",
			LABEL_SELECTOR_REQUIREMENTS_MAX);
	}
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		if (value_count(value_get(v, "values")) >
			LABEL_SELECTOR_VALUES_MAX) {
			return error_set(err, -E2BIG,
				"a label selector has more than %d values",
				LABEL_SELECTOR_VALUES_MAX);
		}
	}
	return 0;
}

static void append(struct label_selector *selector, uint32_t key,
	uint32_t value)
{
	struct requirement *r = &selector->list[selector->count++];

	*r = (struct requirement){
		.operator= SELECTOR_IN,
		.key = key,
		.values = xcalloc(1, sizeof(*r->values)),
		.value_count = 1,
	};
	r->values[0] = value;
}

static bool read_pairs(struct label_selector *selector, struct names *names,
	const struct value *pairs)
{
	for (const struct value *v = value_first(pairs); v != NULL;
		v = value_next(v)) {
		if (value_key(v) == NULL || value_text(v) == NULL) {
			return false;
		}
		append(selector, names_hold(names, value_key(v)),
			names_hold(names, value_text(v)));
	}
	return true;
}

/* Gt and Lt are of node selectors alone. */
static bool read_expressions(struct label_selector *selector,
	struct names *names, const struct value *list)
{
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		struct requirement *r = &selector->list[selector->count++];

		if (!requirement_read(r, names, v, false) ||
			r->operator>= SELECTOR_GT) {
			return false;
		}
	}
	return true;
}

int label_selector_read(struct label_selector *out, struct names *names,
	const struct value *object, struct error *err)
{
	const struct value *pairs = value_get(object, "matchLabels");
	const struct value *list = value_get(object, "matchExpressions");
	struct label_selector selector = { 0 };
	int r = check_sizes(pairs, list, err);

	if (r < 0) {
		return r;
	}
	if (value_is_object(object)) {
		selector.list = xcalloc(value_count(pairs) + value_count(list),
			sizeof(*selector.list));
		selector.is_something = read_pairs(&selector, names, pairs) &&
			read_expressions(&selector, names, list);
	}
	*out = selector;
	return 0;
}

void label_selector_fini(struct label_selector *selector, struct names *names)
{
	for (size_t i = 0; i < selector->count; i++) {
		requirement_fini(&selector->list[i], names);
	}
	free(selector->list);
	*selector = (struct label_selector){ 0 };
}

void label_selector_add(struct label_selector *selector, struct names *names,
	uint32_t key, uint32_t value)
{
	selector->list = xrealloc(selector->list, selector->count + 1,
		sizeof(*selector->list));
	append(selector, names_hold(names, names_text(names, key)),
		names_hold(names, names_text(names, value)));
}

bool label_selector_is_empty(const struct label_selector *selector)
{
	return selector->is_something && selector->count == 0;
}

bool label_selector_matches(const struct label_selector *selector,
	const struct names *names, const struct labels *labels)
{
	static const struct labels none = { 0 };
	const struct selected selected = {
		.names = names,
		.labels = labels != NULL ? labels : &none,
	};

	for (size_t i = 0; i < selector->count; i++) {
		if (!requirement_matches(&selector->list[i], &selected)) {
			return false;
		}
	}
	return selector->is_something;
}
