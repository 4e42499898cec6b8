#include "scheduler/selector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"

/* Go's strconv.ParseInt(text, 10, 64). */
static bool scan_integer(int64_t *out, const char *text)
{
	bool is_negative = *text == '-';
	int64_t value = 0;

	text += *text == '-' || *text == '+';
	if (*text == '\0') {
		return false;
	}
	for (; *text != '\0'; text++) {
		int64_t digit = *text - '0';

		if (digit < 0 || digit > 9 ||
			__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value,
				is_negative ? -digit : digit, &value)) {
			return false;
		}
	}
	*out = value;
	return true;
}

static bool scan_operator(enum selector_operator *out, const char *text)
{
	static const char *const texts[] = {
		[SELECTOR_IN] = "In",
		[SELECTOR_NOT_IN] = "NotIn",
		[SELECTOR_EXISTS] = "Exists",
		[SELECTOR_DOES_NOT_EXIST] = "DoesNotExist",
		[SELECTOR_GT] = "Gt",
		[SELECTOR_LT] = "Lt",
	};

	for (size_t i = 0; i < count_of(texts); i++) {
		if (strcmp(text, texts[i]) == 0) {
			*out = (enum selector_operator)i;
			return true;
		}
	}
	return false;
}

/* How many values upstream lets each operator have. */
static bool is_count_right(const struct requirement *r)
{
	if (r->is_field) {
		return r->operator<= SELECTOR_NOT_IN && r->value_count == 1;
	}
	switch (r->operator) {
	case SELECTOR_IN:
	case SELECTOR_NOT_IN:
		return r->value_count > 0;
	case SELECTOR_EXISTS:
	case SELECTOR_DOES_NOT_EXIST:
		return r->value_count == 0;
	case SELECTOR_GT:
	case SELECTOR_LT:
		return r->value_count == 1;
	}
	return false;
}

static void requirement_fini(struct requirement *r, struct names *names)
{
	names_drop(names, r->key);
	for (size_t i = 0; i < r->value_count; i++) {
		names_drop(names, r->values[i]);
	}
	free(r->values);
}

/* Holds the values; false if one is no string. */
static bool read_values(struct requirement *r, struct names *names,
	const struct value *list)
{
	r->values = xcalloc(value_count(list) + 1, sizeof(*r->values));
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		if (value_text(v) == NULL) {
			return false;
		}
		r->values[r->value_count++] = names_hold(names, value_text(v));
	}
	return true;
}

/* False if upstream could not understand the requirement. */
static bool read_requirement(struct requirement *r, struct names *names,
	const struct value *object, bool is_field)
{
	const char *key = value_text_at(object, "key", "");

	r->is_field = is_field;
	if (is_field ? strcmp(key, "metadata.name") != 0 : *key == '\0') {
		return false;
	}
	r->key = is_field ? 0 : names_hold(names, key);
	if (!scan_operator(
		    &r->operator, value_text_at(object, "operator", "")) ||
		!read_values(r, names, value_get(object, "values")) ||
		!is_count_right(r)) {
		return false;
	}
	return r->operator<SELECTOR_GT ||
		scan_integer(&r->number, names_text(names, r->values[0]));
}

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
			!read_requirement(&term->requirements[term->count++],
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

static bool has_value(const struct requirement *r, uint32_t value)
{
	for (size_t i = 0; i < r->value_count; i++) {
		if (r->values[i] == value) {
			return true;
		}
	}
	return false;
}

static bool compares(const struct requirement *r, const char *label)
{
	int64_t number;

	if (!scan_integer(&number, label)) {
		return false;
	}
	return r->operator== SELECTOR_GT ? number > r->number
					 : number<r->number;
}

static bool requirement_matches(const struct requirement *r,
	const struct selected *node)
{
	uint32_t value =
		r->is_field ? node->name : labels_get(node->labels, r->key);

	switch (r->operator) {
	case SELECTOR_IN:
		return value != 0 && has_value(r, value);
	case SELECTOR_NOT_IN:
		return value == 0 || !has_value(r, value);
	case SELECTOR_EXISTS:
		return value != 0;
	case SELECTOR_DOES_NOT_EXIST:
		return value == 0;
	case SELECTOR_GT:
	case SELECTOR_LT:
		return value != 0 &&
			compares(r, names_text(node->names, value));
	}
	return false;
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
