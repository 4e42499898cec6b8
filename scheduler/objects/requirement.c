#include "scheduler/objects/requirement.h"

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

void requirement_fini(struct requirement *r, struct names *names)
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

bool requirement_read(struct requirement *r, struct names *names,
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

bool requirement_read_in(struct requirement *r, struct names *names,
	const struct value *object)
{
	*r = (struct requirement){
		.operator= SELECTOR_IN,
		.key = names_hold(names, value_text_at(object, "key", "")),
	};
	return read_values(r, names, value_get(object, "values")) &&
		r->value_count > 0;
}

bool requirement_has_value(const struct requirement *r, uint32_t value)
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

bool requirement_matches(const struct requirement *r,
	const struct selected *node)
{
	uint32_t value =
		r->is_field ? node->name : labels_get(node->labels, r->key);

	if (r->is_field && value == 0) {
		return true;
	}
	switch (r->operator) {
	case SELECTOR_IN:
		return value != 0 && requirement_has_value(r, value);
	case SELECTOR_NOT_IN:
		return value == 0 || !requirement_has_value(r, value);
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
