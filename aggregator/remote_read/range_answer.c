#include "aggregator/remote_read/range_answer.h"

#include "lib/memory.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Deeper values are not those of an answer. */
enum { DEPTH_MAX = 16 };

/* No key, label or number that counts is longer. */
enum { WORD_MAX = 64 };

struct cursor {
	const char *begin, *at, *end; /* *end is NUL */
};

/* ---- JSON ---- */

static void skip_blanks(struct cursor *c)
{
	while (c->at < c->end && strchr(" \t\r\n", *c->at) != NULL &&
		*c->at != '\0') {
		c->at++;
	}
}

static bool take(struct cursor *c, char wanted)
{
	skip_blanks(c);
	if (c->at >= c->end || *c->at != wanted) {
		return false;
	}
	c->at++;
	return true;
}

static bool sees(struct cursor *c, char wanted)
{
	skip_blanks(c);
	return c->at < c->end && *c->at == wanted;
}

/* Reads a byte of a string. An escape other than of a quote or a backslash
 * becomes a space. False: the text ends. */
static bool take_byte(struct cursor *c, char *out)
{
	*out = *c->at++;
	if (*out == '\\') {
		if (c->at >= c->end) {
			return false;
		}
		*out = *c->at++;
		if (*out != '"' && *out != '\\') {
			*out = ' ';
		}
	}
	return true;
}

/* Reads a string into out, cut to its size. out NULL: it is skipped. */
static bool take_string(struct cursor *c, char *out, size_t size)
{
	size_t len = 0;

	if (!take(c, '"')) {
		return false;
	}
	while (c->at < c->end && *c->at != '"') {
		char byte;

		if (!take_byte(c, &byte)) {
			return false;
		}
		if (out != NULL && len + 1 < size) {
			out[len++] = byte;
		}
	}
	if (out != NULL) {
		out[len] = '\0';
	}
	return take(c, '"');
}

/* true, null, a number: whatever ends at a mark. */
static bool skip_word(struct cursor *c)
{
	size_t len = strcspn(c->at, ",]}: \t\r\n\"[{");

	c->at += len;
	return len > 0;
}

/* The brackets that are open, as the bytes that close them. */
struct open {
	char close[DEPTH_MAX];
	size_t depth;
};

static bool skip_bracket(struct cursor *c, struct open *open)
{
	char byte = *c->at++;

	if (byte == '}' || byte == ']') {
		return open->depth > 0 && open->close[--open->depth] == byte;
	}
	if (open->depth == DEPTH_MAX) {
		return false;
	}
	open->close[open->depth++] = byte == '{' ? '}' : ']';
	return true;
}

static bool skip_token(struct cursor *c, struct open *open)
{
	switch (*c->at) {
	case '{':
	case '[':
	case '}':
	case ']':
		return skip_bracket(c, open);
	case '"':
		return take_string(c, NULL, 0);
	case ',':
	case ':':
		c->at++;
		return open->depth > 0;
	default:
		return skip_word(c);
	}
}

/* Skips a value: no recursion, and brackets must match. */
static bool skip_value(struct cursor *c)
{
	struct open open = { .depth = 0 };

	do {
		skip_blanks(c);
		if (c->at >= c->end || !skip_token(c, &open)) {
			return false;
		}
	} while (open.depth > 0);
	return true;
}

/* Calls member() for each member of an object, at its value. member() moves
 * behind the value. */
typedef bool (*take_member)(struct cursor *c, const char *key, void *owner);

static bool take_object(struct cursor *c, take_member member, void *owner)
{
	if (!take(c, '{')) {
		return false;
	}
	if (take(c, '}')) {
		return true;
	}
	do {
		char key[WORD_MAX];

		if (!take_string(c, key, sizeof(key)) || !take(c, ':') ||
			!member(c, key, owner)) {
			return false;
		}
	} while (take(c, ','));
	return take(c, '}');
}

/* A number, or a string with one; "NaN" and "+Inf" count. */
static bool take_number(struct cursor *c, double *out)
{
	bool is_quoted = take(c, '"');
	char *end;

	/* The byte behind the text is NUL, and so strtod() ends there. It would
	 * skip blanks that JSON does not have. */
	if (c->at >= c->end || strchr("+-0123456789NaIi", *c->at) == NULL ||
		*c->at == '\0') {
		return false;
	}
	*out = strtod(c->at, &end);
	if (end == c->at || end - c->at > WORD_MAX) {
		return false;
	}
	c->at = end;
	return !is_quoted || take(c, '"');
}

/* ---- the series ---- */

struct reading {
	const struct range_answer_grid *grid;
	size_t found;
	bool is_success, has_data;
	/* These belong to the present series. */
	size_t field;	      /* SIZE_MAX: not known */
	struct cursor values; /* at NULL: not seen */
};

static void put(struct reading *reading, double time_s, double value)
{
	const struct range_answer_grid *grid = reading->grid;
	double row = round(
		(time_s * 1e6 - (double)grid->from_us) / (double)grid->step_us);

	if (isfinite(value) && row >= 0 && row < (double)grid->rows) {
		grid->values[(size_t)row * grid->fields + reading->field] =
			value;
		reading->found++;
	}
}

/* [[time, "value"], ...] */
static bool take_values(struct cursor *c, struct reading *reading)
{
	if (!take(c, '[')) {
		return false;
	}
	if (take(c, ']')) {
		return true;
	}
	do {
		double time_s, value;

		if (!take(c, '[') || !take_number(c, &time_s) ||
			!take(c, ',') || !take_number(c, &value) ||
			!take(c, ']')) {
			return false;
		}
		put(reading, time_s, value);
	} while (take(c, ','));
	return take(c, ']');
}

static bool take_label(struct cursor *c, const char *key, void *owner)
{
	struct reading *reading = owner;
	char value[WORD_MAX];
	char *end;
	unsigned long number;

	if (strcmp(key, reading->grid->label) != 0) {
		return skip_value(c);
	}
	if (!take_string(c, value, sizeof(value))) {
		return false;
	}
	number = strtoul(value, &end, 10);
	if (value[0] >= '0' && value[0] <= '9' && *end == '\0' &&
		number < reading->grid->fields) {
		reading->field = number;
	}
	return true;
}

/* The values may come before the labels. */
static bool take_series_member(struct cursor *c, const char *key, void *owner)
{
	struct reading *reading = owner;

	if (strcmp(key, "metric") == 0) {
		return take_object(c, take_label, reading);
	}
	if (strcmp(key, "values") != 0) {
		return skip_value(c);
	}
	skip_blanks(c);
	if (reading->field != SIZE_MAX) {
		return take_values(c, reading);
	}
	reading->values = *c;
	return skip_value(c);
}

static bool take_series(struct cursor *c, struct reading *reading)
{
	reading->field = SIZE_MAX;
	reading->values = (struct cursor){ 0 };
	if (!take_object(c, take_series_member, reading)) {
		return false;
	}
	return reading->values.at == NULL || reading->field == SIZE_MAX ||
		take_values(&reading->values, reading);
}

static bool take_result(struct cursor *c, struct reading *reading)
{
	if (!take(c, '[')) {
		return false;
	}
	reading->has_data = true;
	if (take(c, ']')) {
		return true;
	}
	do {
		if (!take_series(c, reading)) {
			return false;
		}
	} while (take(c, ','));
	return take(c, ']');
}

static bool take_data(struct cursor *c, const char *key, void *owner)
{
	return strcmp(key, "result") == 0 && sees(c, '[')
		? take_result(c, owner)
		: skip_value(c);
}

static bool take_answer(struct cursor *c, const char *key, void *owner)
{
	struct reading *reading = owner;
	char status[WORD_MAX];

	if (strcmp(key, "data") == 0 && sees(c, '{')) {
		return take_object(c, take_data, reading);
	}
	if (strcmp(key, "status") != 0) {
		return skip_value(c);
	}
	if (!take_string(c, status, sizeof(status))) {
		return false;
	}
	reading->is_success = strcmp(status, "success") == 0;
	return true;
}

int range_answer_read(size_t *found, const struct range_answer_grid *grid,
	const char *text, size_t len, struct error *err)
{
	struct reading reading = { .grid = grid };
	struct cursor c = { text, text, text + len };
	bool is_whole = take_object(&c, take_answer, &reading);
	char why[200];

	skip_blanks(&c);
	if (!is_whole || c.at != c.end) {
		return error_set(err, -EBADMSG,
			"not an answer to a range query at byte %zu",
			(size_t)(c.at - c.begin));
	}
	if (!reading.is_success || !reading.has_data) {
		answer_error(why, sizeof(why), text, len);
		return error_set(err, -EPROTO, "the engine says: %s",
			why[0] == '\0' ? "no result" : why);
	}
	*found = reading.found;
	return 0;
}

/* ---- errors ---- */

struct error_text {
	char *out;
	size_t size;
};

static bool take_error(struct cursor *c, const char *key, void *owner)
{
	const struct error_text *error = owner;

	return strcmp(key, "error") == 0 && sees(c, '"')
		? take_string(c, error->out, error->size)
		: skip_value(c);
}

void answer_error(char *out, size_t size, const char *text, size_t len)
{
	struct error_text error = { out, size };
	struct cursor c = { text, text, text + len };

	out[0] = '\0';
	(void)take_object(&c, take_error, &error);
	for (; *out != '\0'; out++) {
		if ((unsigned char)*out < ' ' || (unsigned char)*out > '~') {
			*out = ' ';
		}
	}
}
