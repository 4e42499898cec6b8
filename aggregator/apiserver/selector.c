#include "aggregator/apiserver/selector.h"

#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void selector_fini(struct selector *selector)
{
	if (selector == NULL) {
		return;
	}
	for (size_t i = 0; i < selector->count; i++) {
		struct selector_term *term = &selector->terms[i];

		for (size_t n = 0; n < term->value_count; n++) {
			free(term->values[n]);
		}
		free(term->values);
		free(term->key);
	}
	free(selector->terms);
	*selector = (struct selector){ 0 };
}

static struct selector_term *add_term(struct selector *selector,
	const char *key, size_t len, enum selector_operator op)
{
	struct selector_term *term;

	selector->terms = xrealloc(selector->terms, selector->count + 1,
		sizeof(*selector->terms));
	term = &selector->terms[selector->count++];
	*term = (struct selector_term){ .key = xstrndup(key, len), .op = op };
	return term;
}

static void add_value(struct selector_term *term, char *value)
{
	term->values = xrealloc(term->values, term->value_count + 1,
		sizeof(*term->values));
	term->values[term->value_count++] = value;
}

static int refuse(const char *what, const char *text, struct error *err)
{
	return error_set(err, -EINVAL, "%s selector: cannot read '%.100s'",
		what, text);
}

/* ---- labels ---- */

static const char label_kind[] = "label";

static const char *skip_spaces(const char *at)
{
	return at + strspn(at, " \t");
}

/* The bytes of a key or value. */
static size_t word_length(const char *at)
{
	return strspn(at,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789-_./");
}

static bool is_word(const char *at, const char *word)
{
	size_t len = strlen(word);

	return word_length(at) == len && strncmp(at, word, len) == 0;
}

/* "(a,b)"; an empty value is allowed, no value is not. */
static int parse_values(struct selector_term *term, const char **at,
	struct error *err)
{
	const char *begin = *at;

	if (**at != '(') {
		return refuse(label_kind, begin, err);
	}
	do {
		size_t len;

		*at = skip_spaces(*at + 1);
		len = word_length(*at);
		if (term->value_count >= SELECTOR_VALUES_MAX) {
			return error_set(err, -EINVAL,
				"label selector: more than %d values",
				SELECTOR_VALUES_MAX);
		}
		add_value(term, xstrndup(*at, len));
		*at = skip_spaces(*at + len);
	} while (**at == ',');
	if (**at != ')') {
		return refuse(label_kind, begin, err);
	}
	(*at)++;
	return 0;
}

/* "=b", "==b", "!=b". */
static int parse_equality(struct selector_term *term, const char **at,
	struct error *err)
{
	size_t len;

	if (**at == '!') {
		term->op = SELECTOR_NOT_IN;
		(*at)++;
	}
	if (**at != '=') {
		return refuse(label_kind, *at, err);
	}
	*at += (*at)[1] == '=' ? 2 : 1;
	*at = skip_spaces(*at);
	len = word_length(*at);
	add_value(term, xstrndup(*at, len));
	*at += len;
	return 0;
}

/* The rest of a term after its key. */
static int parse_operator(struct selector_term *term, const char **at,
	struct error *err)
{
	if (**at == '\0' || **at == ',') {
		term->op = SELECTOR_EXISTS;
		return 0;
	}
	if (is_word(*at, "in") || is_word(*at, "notin")) {
		term->op = **at == 'i' ? SELECTOR_IN : SELECTOR_NOT_IN;
		*at = skip_spaces(*at + word_length(*at));
		return parse_values(term, at, err);
	}
	return parse_equality(term, at, err);
}

static int parse_label_term(struct selector *out, const char **at,
	struct error *err)
{
	bool is_absent = **at == '!';
	const char *key = is_absent ? skip_spaces(*at + 1) : *at;
	size_t len = word_length(key);
	struct selector_term *term;

	if (len == 0) {
		return refuse(label_kind, *at, err);
	}
	if (out->count >= SELECTOR_TERMS_MAX) {
		return error_set(err, -EINVAL,
			"label selector: more than %d terms",
			SELECTOR_TERMS_MAX);
	}
	term = add_term(out, key, len,
		is_absent ? SELECTOR_EXISTS_NOT : SELECTOR_IN);
	*at = skip_spaces(key + len);
	return is_absent ? 0 : parse_operator(term, at, err);
}

static int parse_labels(struct selector *out, const char *text,
	struct error *err)
{
	const char *at = skip_spaces(text);
	int r = 0;

	while (r == 0 && *at != '\0') {
		r = parse_label_term(out, &at, err);
		at = skip_spaces(at);
		if (r == 0 && *at == ',') {
			at = skip_spaces(at + 1);
			r = *at == '\0' ? refuse(label_kind, text, err) : 0;
		} else if (r == 0 && *at != '\0') {
			r = refuse(label_kind, at, err);
		}
	}
	return r;
}

static int end_parse(struct selector *out, struct selector *parsed, int r)
{
	if (r < 0) {
		selector_fini(parsed);
		return r;
	}
	*out = *parsed;
	return 0;
}

int selector_parse_labels(struct selector *out, const char *text,
	struct error *err)
{
	struct selector parsed = { 0 };

	return end_parse(out, &parsed,
		text == NULL ? 0 : parse_labels(&parsed, text, err));
}

/* ---- fields ---- */

static const char field_kind[] = "field";

/* Steps over the \ before a character. False: nothing may follow it so. */
static bool skip_escape(const char **at)
{
	if (**at == '\\') {
		(*at)++;
		return **at != '\0' && strchr("\\,=", **at) != NULL;
	}
	return **at != '=';
}

/* The value up to an unescaped comma; NULL: a wrong escape. */
static char *read_value(const char **at)
{
	char *value = xcalloc(strlen(*at) + 1, 1);
	size_t len = 0;

	for (; **at != '\0' && **at != ','; (*at)++) {
		if (!skip_escape(at)) {
			free(value);
			return NULL;
		}
		value[len++] = **at;
	}
	return value;
}

static int parse_field_term(struct selector *out, const char **at,
	struct error *err)
{
	size_t len = strcspn(*at, "=!,");
	const char *op = *at + len;
	bool is_not = *op == '!';
	struct selector_term *term;
	const char *rest = op + is_not;
	char *value;

	if (len == 0 || *rest != '=') {
		return refuse(field_kind, *at, err);
	}
	if (out->count >= SELECTOR_TERMS_MAX) {
		return error_set(err, -EINVAL,
			"field selector: more than %d terms",
			SELECTOR_TERMS_MAX);
	}
	term = add_term(out, *at, len, is_not ? SELECTOR_NOT_IN : SELECTOR_IN);
	rest += !is_not && rest[1] == '=' ? 2 : 1;
	value = read_value(&rest);
	if (value == NULL) {
		return refuse(field_kind, *at, err);
	}
	add_value(term, value);
	*at = rest;
	return 0;
}

static int parse_fields(struct selector *out, const char *text,
	struct error *err)
{
	const char *at = text;
	int r = 0;

	while (r == 0 && *at != '\0') {
		r = parse_field_term(out, &at, err);
		if (r == 0 && *at == ',') {
			at++;
			r = *at == '\0' ? refuse(field_kind, text, err) : 0;
		}
	}
	return r;
}

int selector_parse_fields(struct selector *out, const char *text,
	struct error *err)
{
	struct selector parsed = { 0 };

	return end_parse(out, &parsed,
		text == NULL ? 0 : parse_fields(&parsed, text, err));
}

/* ---- use ---- */

static bool has_one(const struct selector_term *term,
	const struct selector_object *object)
{
	for (size_t i = 0; i < term->value_count; i++) {
		if (object->has(object->owner, term->key, term->values[i])) {
			return true;
		}
	}
	return false;
}

static bool term_matches(const struct selector_term *term,
	const struct selector_object *object)
{
	switch (term->op) {
	case SELECTOR_IN:
		return has_one(term, object);
	case SELECTOR_NOT_IN:
		return !has_one(term, object);
	case SELECTOR_EXISTS:
		return object->has(object->owner, term->key, NULL);
	default:
		return !object->has(object->owner, term->key, NULL);
	}
}

bool selector_matches(const struct selector *selector,
	const struct selector_object *object)
{
	for (size_t i = 0; i < selector->count; i++) {
		if (!term_matches(&selector->terms[i], object)) {
			return false;
		}
	}
	return true;
}

const char *selector_required(const struct selector *selector, const char *key)
{
	for (size_t i = 0; i < selector->count; i++) {
		const struct selector_term *term = &selector->terms[i];

		if (term->op == SELECTOR_IN && term->value_count == 1 &&
			strcmp(term->key, key) == 0) {
			return term->values[0];
		}
	}
	return NULL;
}

static bool is_known(const char *known, const char *key)
{
	size_t len = strlen(key);

	for (const char *at = known; *at != '\0';
		at += strcspn(at, " "), at += *at == ' ') {
		if (strcspn(at, " ") == len && strncmp(at, key, len) == 0) {
			return true;
		}
	}
	return false;
}

int selector_check_keys(const struct selector *selector, const char *known,
	struct error *err)
{
	for (size_t i = 0; i < selector->count; i++) {
		if (!is_known(known, selector->terms[i].key)) {
			return error_set(err, -EINVAL,
				"field selector: '%.60s' is not one of: %s",
				selector->terms[i].key, known);
		}
	}
	return 0;
}
