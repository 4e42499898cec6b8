#include "scheduler/objects/node_selector.h"

#include <stdlib.h>

#include "lib/memory.h"
#include "scheduler/objects/value_list.h"

static struct node_selector_term read_term(struct interner *interner,
	const struct json_value *object)
{
	struct node_selector_term term = { 0 };

	label_selector_add_expressions(&term.all, interner,
		json_value_get(object, "matchExpressions"),
		REQUIREMENT_OF_LABEL);
	label_selector_add_expressions(&term.all, interner,
		json_value_get(object, "matchFields"), REQUIREMENT_OF_FIELD);
	return term;
}

int32_t node_selector_term_weight(const struct json_value *term)
{
	double weight = 0;

	if (!json_value_number(&weight, json_value_get(term, "weight")) ||
		weight < 1 || weight > 100) {
		return 0;
	}
	return (int32_t)weight;
}

static void append_term(struct node_selector *selector,
	struct interner *interner, const struct json_value *v,
	bool is_preferred)
{
	struct node_selector_term term = read_term(interner,
		is_preferred ? json_value_get(v, "preference") : v);

	term.weight = is_preferred ? node_selector_term_weight(v) : 0;
	if (is_preferred && (term.weight == 0 || term.all.count == 0)) {
		label_selector_fini(&term.all, interner);
		return;
	}
	selector->list[selector->count++] = term;
}

void node_selector_read_topologies(struct node_selector *out,
	struct interner *interner, const struct json_value *list)
{
	struct node_selector selector = { 0 };

	selector.list = xcalloc(json_value_count(list), sizeof(*selector.list));
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		label_selector_add_expressions(
			&selector.list[selector.count++].all, interner,
			json_value_get(v, "matchLabelExpressions"),
			REQUIREMENT_OF_TOPOLOGY);
	}
	*out = selector;
}

int node_selector_read(struct node_selector *out, struct interner *interner,
	const struct json_value *list, bool is_preferred, struct error *err)
{
	struct node_selector selector = { 0 };
	int r = value_list_check(list, "node affinity terms", err);

	if (r < 0) {
		return r;
	}
	selector.list =
		xcalloc(json_value_count(list) + 1, sizeof(*selector.list));
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		append_term(&selector, interner, v, is_preferred);
	}
	*out = selector;
	return 0;
}

void node_selector_fini(struct node_selector *selector,
	struct interner *interner)
{
	for (size_t i = 0; i < selector->count; i++) {
		label_selector_fini(&selector->list[i].all, interner);
	}
	free(selector->list);
	*selector = (struct node_selector){ 0 };
}

static bool term_matches(const struct node_selector_term *term,
	const struct requirement_subject *subject)
{
	return term->all.count > 0 &&
		label_selector_matches_subject(&term->all, subject);
}

bool node_selector_matches(const struct node_selector *selector,
	const struct requirement_subject *subject)
{
	for (size_t i = 0; i < selector->count; i++) {
		if (term_matches(&selector->list[i], subject)) {
			return true;
		}
	}
	return false;
}

int64_t node_selector_weight(const struct node_selector *selector,
	const struct requirement_subject *subject)
{
	int64_t weight = 0;

	for (size_t i = 0; i < selector->count; i++) {
		if (term_matches(&selector->list[i], subject)) {
			weight += selector->list[i].weight;
		}
	}
	return weight;
}

static bool is_pin(const struct requirement *r)
{
	return r->is_field && r->op == REQUIREMENT_IN && r->value_count > 0;
}

static const struct requirement *first_pin(
	const struct node_selector_term *term)
{
	for (size_t i = 0; i < term->all.count; i++) {
		if (is_pin(&term->all.list[i])) {
			return &term->all.list[i];
		}
	}
	return NULL;
}

bool node_selector_is_pinned(const struct node_selector *selector)
{
	for (size_t i = 0; i < selector->count; i++) {
		if (first_pin(&selector->list[i]) == NULL) {
			return false;
		}
	}
	return selector->count > 0;
}

static bool term_pins(const struct node_selector_term *term, uint32_t name)
{
	for (size_t i = 0; i < term->all.count; i++) {
		const struct requirement *r = &term->all.list[i];

		if (is_pin(r) && !requirement_has_value(r, name)) {
			return false;
		}
	}
	return true;
}

bool node_selector_pins(const struct node_selector *selector, uint32_t name)
{
	for (size_t i = 0; i < selector->count; i++) {
		if (term_pins(&selector->list[i], name)) {
			return true;
		}
	}
	return false;
}

static bool term_pins_any(const struct node_selector_term *term)
{
	const struct requirement *r = first_pin(term);

	for (size_t i = 0; r != NULL && i < r->value_count; i++) {
		if (term_pins(term, r->values[i])) {
			return true;
		}
	}
	return false;
}

bool node_selector_pins_any(const struct node_selector *selector)
{
	for (size_t i = 0; i < selector->count; i++) {
		if (term_pins_any(&selector->list[i])) {
			return true;
		}
	}
	return false;
}
