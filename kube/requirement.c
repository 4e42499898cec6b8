#include "kube/requirement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/id_list.h"
#include "lib/memory.h"

/* Go's strconv.ParseInt(text, 10, 64). */
static bool parse_integer(int64_t *out, const char *text)
{
	char *end;

	errno = 0;
	*out = strtoll(text, &end, 10);
	/* strtoll(3) also skips blanks. */
	return errno == 0 && end != text && *end == '\0' &&
		strchr("+-0123456789", *text) != NULL;
}

static const struct {
	const char *text;
	size_t min, max; /* values that upstream allows */
} operators[] = {
	[REQUIREMENT_IN] = { "In", 1, SIZE_MAX },
	[REQUIREMENT_NOT_IN] = { "NotIn", 1, SIZE_MAX },
	[REQUIREMENT_EXISTS] = { "Exists", 0, 0 },
	[REQUIREMENT_DOES_NOT_EXIST] = { "DoesNotExist", 0, 0 },
	[REQUIREMENT_GT] = { "Gt", 1, 1 },
	[REQUIREMENT_LT] = { "Lt", 1, 1 },
};

static bool parse_operator(enum requirement_operator *out, const char *text)
{
	for (size_t i = 0; i < count_of(operators); i++) {
		if (strcmp(text, operators[i].text) == 0) {
			*out = (enum requirement_operator)i;
			return true;
		}
	}
	return false;
}

static bool has_valid_count(const struct requirement *r)
{
	if (r->is_field) {
		return r->op <= REQUIREMENT_NOT_IN && r->value_count == 1;
	}
	return r->value_count >= operators[r->op].min &&
		r->value_count <= operators[r->op].max;
}

void requirement_fini(struct requirement *r, struct interner *interner)
{
	interner_drop(interner, r->key);
	for (size_t i = 0; i < r->value_count; i++) {
		interner_drop(interner, r->values[i]);
	}
	free(r->values);
}

void requirement_add_value(struct requirement *r, struct interner *interner,
	const char *value)
{
	r->values = xgrow_at(r->values, r->value_count, sizeof(*r->values));
	r->values[r->value_count++] = interner_hold(interner, value);
}

/* False: a value is not a string. */
static bool read_values(struct requirement *r, struct interner *interner,
	const struct json_value *list)
{
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		if (json_value_text(v) == NULL) {
			return false;
		}
		requirement_add_value(r, interner, json_value_text(v));
	}
	id_list_sort(r->values, r->value_count);
	return true;
}

bool requirement_read(struct requirement *r, struct interner *interner,
	const struct json_value *object, enum requirement_kind kind)
{
	const char *key = json_value_text_at(object, "key", "");
	const char *op = kind == REQUIREMENT_OF_TOPOLOGY
		? "In"
		: json_value_text_at(object, "operator", "");

	r->is_field = kind == REQUIREMENT_OF_FIELD;
	if (r->is_field ? strcmp(key, "metadata.name") != 0 : *key == '\0') {
		return false;
	}
	r->key = r->is_field ? 0 : interner_hold(interner, key);
	return parse_operator(&r->op, op) &&
		read_values(r, interner, json_value_get(object, "values")) &&
		has_valid_count(r) &&
		(r->op < REQUIREMENT_GT ||
			parse_integer(&r->number,
				interner_text(interner, r->values[0])));
}

bool requirement_is_equality(const struct requirement *r)
{
	return r->op == REQUIREMENT_IN && !r->is_field && r->value_count == 1;
}

bool requirement_has_value(const struct requirement *r, uint32_t value)
{
	return id_list_has(r->values, r->value_count, value);
}

static bool compare(const struct requirement *r, const char *value)
{
	int64_t number;

	if (!parse_integer(&number, value)) {
		return false;
	}
	return r->op == REQUIREMENT_GT ? number > r->number
				       : number < r->number;
}

bool requirement_wants(const struct requirement *r,
	const struct interner *interner, uint32_t value)
{
	switch (r->op) {
	case REQUIREMENT_IN:
	case REQUIREMENT_NOT_IN:
		return requirement_has_value(r, value);
	case REQUIREMENT_GT:
	case REQUIREMENT_LT:
		return value != 0 && compare(r, interner_text(interner, value));
	default:
		return true;
	}
}

bool requirement_holds(const struct requirement *r, bool has)
{
	return has !=
		(r->op == REQUIREMENT_NOT_IN ||
			r->op == REQUIREMENT_DOES_NOT_EXIST);
}

bool requirement_matches(const struct requirement *r,
	const struct requirement_subject *subject)
{
	uint32_t value = r->is_field ? subject->name
				     : labels_get(subject->labels, r->key);

	if (r->is_field && value == 0) {
		return true;
	}
	return requirement_holds(r,
		value != 0 && requirement_wants(r, subject->interner, value));
}
