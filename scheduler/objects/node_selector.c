#include "scheduler/objects/node_selector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"

static int check_sizes(const struct value *list, struct error *err)
{
	if (value_count(list) > SELECTOR_REQUIREMENTS_MAX) {
		return error_set(err, -E2BIG,
			"a node selector term has more than %d requirements",
			SELECTOR_REQUIREMENTS_MAX);
	}
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		if (value_count(value_get(v, "values")) > SELECTOR_VALUES_MAX) {
			return error_set(err, -E2BIG,
				"a node selector has more than %d values",
				SELECTOR_VALUES_MAX);
		}
	}
	return 0;
}

static void read_requirements(struct term *term, struct names *names,
	const struct value *list, bool are_fields)
{
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		term->is_broken |=
			!requirement_read(&term->requirements[term->count++],
				names, v, are_fields);
	}
}

static void term_fini(struct term *term, struct names *names)
{
	for (size_t i = 0; i < term->count; i++) {
		requirement_fini(&term->requirements[i], names);
	}
	free(term->requirements);
}

static int read_term(struct term *out, struct names *names,
	const struct value *object, struct error *err)
{
	const struct value *labels = value_get(object, "matchExpressions");
	const struct value *fields = value_get(object, "matchFields");
	struct term term = { 0 };
	int r = check_sizes(labels, err);

	if (r == 0) {
		r = check_sizes(fields, err);
	}
	if (r < 0) {
		return r;
	}
	term.requirements =
		xcalloc(value_count(labels) + value_count(fields) + 1,
			sizeof(*term.requirements));
	read_requirements(&term, names, labels, false);
	read_requirements(&term, names, fields, true);
	*out = term;
	return 0;
}

/* The weight of a {weight, preference}; 0 where it is none upstream takes. */
static int32_t weight_of(const struct value *object)
{
	double weight = 0;

	if (!value_number(&weight, value_get(object, "weight")) || weight < 1 ||
		weight > 100) {
		return 0;
	}
	return (int32_t)weight;
}

static int append_term(struct terms *terms, struct names *names,
	const struct value *v, bool is_preferred, struct error *err)
{
	struct term *term = &terms->list[terms->count];
	int r = read_term(term, names,
		is_preferred ? value_get(v, "preference") : v, err);

	if (r < 0) {
		return r;
	}
	term->weight = is_preferred ? weight_of(v) : 0;
	if (is_preferred && (term->weight == 0 || term->count == 0)) {
		term_fini(term, names);
		return 0;
	}
	terms->count++;
	return 0;
}

static void read_topology(struct term *term, struct names *names,
	const struct value *list)
{
	term->requirements =
		xcalloc(value_count(list), sizeof(*term->requirements));
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		term->is_broken |= !requirement_read_in(
			&term->requirements[term->count++], names, v);
	}
}

int terms_read_topologies(struct terms *out, struct names *names,
	const struct value *list, struct error *err)
{
	struct terms terms = { 0 };

	if (value_count(list) > SELECTOR_TERMS_MAX) {
		return error_set(err, -E2BIG, "more than %d topologies",
			SELECTOR_TERMS_MAX);
	}
	terms.list = xcalloc(value_count(list), sizeof(*terms.list));
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		const struct value *keys =
			value_get(v, "matchLabelExpressions");
		int r = check_sizes(keys, err);

		if (r < 0) {
			terms_fini(&terms, names);
			return r;
		}
		read_topology(&terms.list[terms.count++], names, keys);
	}
	*out = terms;
	return 0;
}

int terms_read(struct terms *out, struct names *names, const struct value *list,
	bool is_preferred, struct error *err)
{
	struct terms terms = { 0 };

	if (list != NULL && !value_is_null(list) && !value_is_array(list)) {
		return error_set(err, -EBADMSG,
			"node affinity terms are not a list");
	}
	if (value_count(list) > SELECTOR_TERMS_MAX) {
		return error_set(err, -E2BIG,
			"more than %d node affinity terms", SELECTOR_TERMS_MAX);
	}
	terms.list = xcalloc(value_count(list) + 1, sizeof(*terms.list));
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		int r = append_term(&terms, names, v, is_preferred, err);

		if (r < 0) {
			terms_fini(&terms, names);
			return r;
		}
	}
	*out = terms;
	return 0;
}

void terms_fini(struct terms *terms, struct names *names)
{
	for (size_t i = 0; i < terms->count; i++) {
		term_fini(&terms->list[i], names);
	}
	free(terms->list);
	*terms = (struct terms){ 0 };
}

static bool term_matches(const struct term *term, const struct selected *node)
{
	if (term->is_broken || term->count == 0) {
		return false;
	}
	for (size_t i = 0; i < term->count; i++) {
		if (!requirement_matches(&term->requirements[i], node)) {
			return false;
		}
	}
	return true;
}

bool terms_match(const struct terms *terms, const struct selected *node)
{
	for (size_t i = 0; i < terms->count; i++) {
		if (term_matches(&terms->list[i], node)) {
			return true;
		}
	}
	return false;
}

int64_t terms_weight(const struct terms *terms, const struct selected *node)
{
	int64_t weight = 0;

	for (size_t i = 0; i < terms->count; i++) {
		if (term_matches(&terms->list[i], node)) {
			weight += terms->list[i].weight;
		}
	}
	return weight;
}

static bool is_pin(const struct requirement *r)
{
	return r->is_field && r->operator== SELECTOR_IN && r->value_count> 0;
}

static const struct requirement *first_pin(const struct term *term)
{
	for (size_t i = 0; i < term->count; i++) {
		if (is_pin(&term->requirements[i])) {
			return &term->requirements[i];
		}
	}
	return NULL;
}

bool terms_are_pinned(const struct terms *terms)
{
	for (size_t i = 0; i < terms->count; i++) {
		if (first_pin(&terms->list[i]) == NULL) {
			return false;
		}
	}
	return terms->count > 0;
}

static bool term_pins(const struct term *term, uint32_t name)
{
	for (size_t i = 0; i < term->count; i++) {
		const struct requirement *r = &term->requirements[i];

		if (is_pin(r) && !requirement_has_value(r, name)) {
			return false;
		}
	}
	return true;
}

bool terms_pin(const struct terms *terms, uint32_t name)
{
	for (size_t i = 0; i < terms->count; i++) {
		if (term_pins(&terms->list[i], name)) {
			return true;
		}
	}
	return false;
}

static bool term_pins_any(const struct term *term)
{
	const struct requirement *r = first_pin(term);

	for (size_t i = 0; r != NULL && i < r->value_count; i++) {
		if (term_pins(term, r->values[i])) {
			return true;
		}
	}
	return false;
}

bool terms_pin_any(const struct terms *terms)
{
	for (size_t i = 0; i < terms->count; i++) {
		if (term_pins_any(&terms->list[i])) {
			return true;
		}
	}
	return false;
}
