#include "kube/selector.h"

#include "lib/id_list.h"
#include "lib/memory.h"

#include <errno.h>
#include <string.h>

void selector_fini(struct selector *selector)
{
	label_selector_fini(&selector->terms, selector->interner);
	interner_free(selector->interner);
	*selector = (struct selector){ 0 };
}

/* A text that is read as far as `at`. */
struct reader {
	struct selector selector;
	const char *at;
	const char *kind;   /* "label" or "field" */
	const char *spaces; /* that are skipped between words */
	int (*read_term)(struct reader *reader);
	struct error *err;
};

static int refuse(const struct reader *reader, const char *text)
{
	return error_set(reader->err, -EINVAL,
		"%s selector: cannot read '%.100s'", reader->kind, text);
}

static void skip_spaces(struct reader *reader)
{
	reader->at += strspn(reader->at, reader->spaces);
}

static int add_term(struct reader *reader, const char *key,
	enum requirement_operator op)
{
	struct selector *out = &reader->selector;
	struct requirement *term;

	if (out->terms.count >= SELECTOR_TERMS_MAX) {
		return error_set(reader->err, -EINVAL,
			"%s selector: more than %d terms", reader->kind,
			SELECTOR_TERMS_MAX);
	}
	if (out->interner == NULL) {
		out->interner = interner_new();
	}
	term = label_selector_append(&out->terms);
	term->key = interner_hold(out->interner, key);
	term->op = op;
	return 0;
}

static struct requirement *last_term(const struct reader *reader)
{
	const struct label_selector *terms = &reader->selector.terms;

	return &terms->list[terms->count - 1];
}

/* ---- labels ---- */

static size_t word_length(const char *at)
{
	return strspn(at,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789-_./");
}

/* A key or value, which may be empty. The caller frees it. */
static char *take_word(struct reader *reader)
{
	size_t len;
	char *word;

	skip_spaces(reader);
	len = word_length(reader->at);
	word = xstrndup(reader->at, len);
	reader->at += len;
	skip_spaces(reader);
	return word;
}

static void read_value(struct reader *reader)
{
	scoped_free char *value = take_word(reader);

	requirement_add_value(last_term(reader), reader->selector.interner,
		value);
}

/* "(a,b)"; an empty value is allowed, no value is not. */
static int read_values(struct reader *reader)
{
	const char *begin = reader->at;

	if (*begin != '(') {
		return refuse(reader, begin);
	}
	do {
		if (last_term(reader)->value_count >= SELECTOR_VALUES_MAX) {
			return error_set(reader->err, -EINVAL,
				"label selector: more than %d values",
				SELECTOR_VALUES_MAX);
		}
		reader->at++;
		read_value(reader);
	} while (*reader->at == ',');
	if (*reader->at != ')') {
		return refuse(reader, begin);
	}
	reader->at++;
	return 0;
}

/* The rest of a term after its key: "in (b,c)", "=b", "==b", "!=b". */
static int read_operator(struct reader *reader)
{
	struct requirement *term = last_term(reader);
	const char *begin = reader->at;
	scoped_free char *word = take_word(reader);

	if (strcmp(word, "in") == 0 || strcmp(word, "notin") == 0) {
		term->op = *word == 'i' ? REQUIREMENT_IN : REQUIREMENT_NOT_IN;
		return read_values(reader);
	}
	if (*begin == '!') {
		term->op = REQUIREMENT_NOT_IN;
		begin++;
	}
	if (*begin != '=') {
		return refuse(reader, begin);
	}
	reader->at = begin + 1 + (begin[1] == '=');
	read_value(reader);
	return 0;
}

static int read_label_term(struct reader *reader)
{
	const char *begin = reader->at;
	bool is_absent = *begin == '!';
	scoped_free char *key = NULL;
	int r;

	reader->at += is_absent;
	key = take_word(reader);
	r = *key == '\0' ? refuse(reader, begin)
			 : add_term(reader, key, REQUIREMENT_DOES_NOT_EXIST);
	if (r < 0 || is_absent) {
		return r;
	}
	last_term(reader)->op = REQUIREMENT_IN;
	if (*reader->at == '\0' || *reader->at == ',') {
		last_term(reader)->op = REQUIREMENT_EXISTS;
		return 0;
	}
	return read_operator(reader);
}

/* ---- fields ---- */

/* The value up to an unescaped comma; NULL: a wrong escape. */
static char *take_escaped(struct reader *reader)
{
	scoped_free char *value = xcalloc(strlen(reader->at) + 1, 1);

	for (size_t i = 0; *reader->at != '\0' && *reader->at != ','; i++) {
		bool is_escaped = *reader->at == '\\';

		value[i] = reader->at[is_escaped];
		if (is_escaped !=
			(value[i] != '\0' &&
				strchr("\\,=", value[i]) != NULL)) {
			return NULL;
		}
		reader->at += is_escaped + 1;
	}
	return take_ptr(value);
}

static int read_field_term(struct reader *reader)
{
	const char *begin = reader->at;
	size_t len = strcspn(begin, "=!,");
	bool is_not = begin[len] == '!';
	scoped_free char *key = xstrndup(begin, len);
	scoped_free char *value = NULL;
	int r;

	reader->at += len + is_not;
	r = len == 0 || *reader->at != '='
		? refuse(reader, begin)
		: add_term(reader, key,
			  is_not ? REQUIREMENT_NOT_IN : REQUIREMENT_IN);
	if (r < 0) {
		return r;
	}
	reader->at += !is_not && reader->at[1] == '=' ? 2 : 1;
	value = take_escaped(reader);
	if (value == NULL) {
		return refuse(reader, begin);
	}
	requirement_add_value(last_term(reader), reader->selector.interner,
		value);
	return 0;
}

/* ---- both ---- */

/* A term and the comma behind it; text: all of it. */
static int read_next(struct reader *reader, const char *text)
{
	int r = reader->read_term(reader);

	if (r < 0) {
		return r;
	}
	skip_spaces(reader);
	if (*reader->at == ',') {
		reader->at++;
		skip_spaces(reader);
		return *reader->at == '\0' ? refuse(reader, text) : 0;
	}
	return *reader->at == '\0' ? 0 : refuse(reader, reader->at);
}

static int parse(struct selector *out, struct reader *reader, const char *text)
{
	struct label_selector *terms = &reader->selector.terms;
	int r = 0;

	reader->at = text == NULL ? "" : text;
	skip_spaces(reader);
	while (r == 0 && *reader->at != '\0') {
		r = read_next(reader, text);
	}
	if (r < 0) {
		selector_fini(&reader->selector);
		return r;
	}
	for (size_t i = 0; i < terms->count; i++) {
		id_list_sort(terms->list[i].values, terms->list[i].value_count);
	}
	*out = reader->selector;
	return 0;
}

int selector_parse_labels(struct selector *out, const char *text,
	struct error *err)
{
	struct reader reader = { .kind = "label",
		.spaces = " \t",
		.read_term = read_label_term,
		.err = err };

	return parse(out, &reader, text);
}

int selector_parse_fields(struct selector *out, const char *text,
	struct error *err)
{
	struct reader reader = { .kind = "field",
		.spaces = "",
		.read_term = read_field_term,
		.err = err };

	return parse(out, &reader, text);
}

/* ---- use ---- */

static const char *key_of(const struct selector *selector, size_t i)
{
	return interner_text(selector->interner, selector->terms.list[i].key);
}

bool selector_values_have(const struct selector_values *values,
	const char *value)
{
	return value != NULL &&
		requirement_wants(values->term, values->interner,
			interner_find(values->interner, value));
}

bool selector_matches(const struct selector *selector,
	const struct selector_object *object)
{
	for (size_t i = 0; i < selector->terms.count; i++) {
		const struct selector_values values = {
			&selector->terms.list[i], selector->interner
		};
		bool has = object->has != NULL &&
			object->has(object->owner, key_of(selector, i),
				&values);

		if (!requirement_holds(values.term, has)) {
			return false;
		}
	}
	return true;
}

const char *selector_required(const struct selector *selector, const char *key)
{
	for (size_t i = 0; i < selector->terms.count; i++) {
		const struct requirement *term = &selector->terms.list[i];

		if (requirement_is_equality(term) &&
			strcmp(key_of(selector, i), key) == 0) {
			return interner_text(selector->interner,
				term->values[0]);
		}
	}
	return NULL;
}

bool selector_key_place(size_t *place, const char *known, const char *key)
{
	size_t len = strlen(key);

	*place = 0;
	for (const char *at = known; *at != '\0';
		at += strcspn(at, " "), at += *at == ' ', (*place)++) {
		if (strcspn(at, " ") == len && strncmp(at, key, len) == 0) {
			return true;
		}
	}
	return false;
}

int selector_check_keys(const struct selector *selector, const char *known,
	struct error *err)
{
	size_t place;

	for (size_t i = 0; i < selector->terms.count; i++) {
		if (!selector_key_place(&place, known, key_of(selector, i))) {
			return error_set(err, -EINVAL,
				"field selector: '%.60s' is not one of: %s",
				key_of(selector, i), known);
		}
	}
	return 0;
}
