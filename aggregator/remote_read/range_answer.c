#include "aggregator/remote_read/range_answer.h"

#include "kube/json_scan.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WORD_MAX = 64,	/* no key, label or number that counts is longer */
	DEPTH_MAX = 16, /* deeper values are not those of an answer */
};

/* ---- JSON ---- */

static struct json_scan scan_of(const char *text, size_t len)
{
	return (struct json_scan){ text, text + len, DEPTH_MAX };
}

static bool sees(struct json_scan *s, char wanted)
{
	json_scan_blank(s);
	return s->at < s->end && *s->at == wanted;
}

static bool skip_value(struct json_scan *s)
{
	struct json_slice skipped;

	return json_scan_value(s, &skipped);
}

/* Reads a string into out, cut to its size. An escape other than of a quote or
 * a backslash becomes a space. */
static bool take_string(struct json_scan *s, char *out, size_t size)
{
	struct json_slice slice;
	const char *at, *end;
	size_t len = 0;

	if (!sees(s, '"') || !json_scan_value(s, &slice)) {
		return false;
	}
	end = slice.text + slice.len - 1;
	for (at = slice.text + 1; at < end && len + 1 < size; at++) {
		bool is_escape = *at == '\\';

		at += is_escape;
		out[len] = *at;
		if (is_escape && *at != '"' && *at != '\\') {
			out[len] = ' ';
		}
		len++;
	}
	out[len] = '\0';
	return true;
}

/* Calls member() for each member of an object, at its value. member() moves
 * behind the value. */
typedef bool (*take_member)(struct json_scan *s, const char *key, void *owner);

static bool take_object(struct json_scan *s, take_member member, void *owner)
{
	if (!json_scan_char(s, '{')) {
		return false;
	}
	if (json_scan_char(s, '}')) {
		return true;
	}
	do {
		char key[WORD_MAX];

		if (!take_string(s, key, sizeof(key)) ||
			!json_scan_char(s, ':') || !member(s, key, owner)) {
			return false;
		}
	} while (json_scan_char(s, ','));
	return json_scan_char(s, '}');
}

/* A number, or a string with one; "NaN" and "+Inf" count. */
static bool take_number(struct json_scan *s, double *out)
{
	bool is_quoted = json_scan_char(s, '"');
	char *end;

	/* The byte behind the text is NUL, and so strtod() ends there. It would
	 * skip blanks that JSON does not have. */
	if (s->at >= s->end || strchr("+-0123456789NaIi", *s->at) == NULL ||
		*s->at == '\0') {
		return false;
	}
	*out = strtod(s->at, &end);
	if (end == s->at || end - s->at > WORD_MAX) {
		return false;
	}
	s->at = end;
	return !is_quoted || json_scan_char(s, '"');
}

/* ---- the series ---- */

struct reading {
	const struct range_answer_grid *grid;
	size_t found;
	bool is_success, has_data;
	/* These belong to the present series. */
	size_t field;		 /* SIZE_MAX: not known */
	struct json_scan values; /* at NULL: not seen */
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
static bool take_values(struct json_scan *s, struct reading *reading)
{
	if (!json_scan_char(s, '[')) {
		return false;
	}
	if (json_scan_char(s, ']')) {
		return true;
	}
	do {
		double time_s, value;

		if (!json_scan_char(s, '[') || !take_number(s, &time_s) ||
			!json_scan_char(s, ',') || !take_number(s, &value) ||
			!json_scan_char(s, ']')) {
			return false;
		}
		put(reading, time_s, value);
	} while (json_scan_char(s, ','));
	return json_scan_char(s, ']');
}

static bool take_label(struct json_scan *s, const char *key, void *owner)
{
	struct reading *reading = owner;
	char value[WORD_MAX];
	char *end;
	unsigned long number;

	if (strcmp(key, reading->grid->label) != 0) {
		return skip_value(s);
	}
	if (!take_string(s, value, sizeof(value))) {
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
static bool take_series_member(struct json_scan *s, const char *key,
	void *owner)
{
	struct reading *reading = owner;

	if (strcmp(key, "metric") == 0) {
		return take_object(s, take_label, reading);
	}
	if (strcmp(key, "values") != 0) {
		return skip_value(s);
	}
	json_scan_blank(s);
	if (reading->field != SIZE_MAX) {
		return take_values(s, reading);
	}
	reading->values = *s;
	return skip_value(s);
}

static bool take_series(struct json_scan *s, struct reading *reading)
{
	reading->field = SIZE_MAX;
	reading->values = (struct json_scan){ 0 };
	if (!take_object(s, take_series_member, reading)) {
		return false;
	}
	return reading->values.at == NULL || reading->field == SIZE_MAX ||
		take_values(&reading->values, reading);
}

static bool take_result(struct json_scan *s, struct reading *reading)
{
	if (!json_scan_char(s, '[')) {
		return false;
	}
	reading->has_data = true;
	if (json_scan_char(s, ']')) {
		return true;
	}
	do {
		if (!take_series(s, reading)) {
			return false;
		}
	} while (json_scan_char(s, ','));
	return json_scan_char(s, ']');
}

static bool take_data(struct json_scan *s, const char *key, void *owner)
{
	return strcmp(key, "result") == 0 && sees(s, '[')
		? take_result(s, owner)
		: skip_value(s);
}

static bool take_answer(struct json_scan *s, const char *key, void *owner)
{
	struct reading *reading = owner;
	char status[WORD_MAX];

	if (strcmp(key, "data") == 0 && sees(s, '{')) {
		return take_object(s, take_data, reading);
	}
	if (strcmp(key, "status") != 0) {
		return skip_value(s);
	}
	if (!take_string(s, status, sizeof(status))) {
		return false;
	}
	reading->is_success = strcmp(status, "success") == 0;
	return true;
}

int range_answer_read(size_t *found, const struct range_answer_grid *grid,
	const char *text, size_t len, struct error *err)
{
	struct reading reading = { .grid = grid };
	struct json_scan s = scan_of(text, len);
	bool is_whole = take_object(&s, take_answer, &reading);
	char why[200];

	json_scan_blank(&s);
	if (!is_whole || s.at != s.end) {
		return error_set(err, -EBADMSG,
			"not an answer to a range query at byte %zu",
			(size_t)(s.at - text));
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

static bool take_error(struct json_scan *s, const char *key, void *owner)
{
	const struct error_text *error = owner;

	return strcmp(key, "error") == 0 && sees(s, '"')
		? take_string(s, error->out, error->size)
		: skip_value(s);
}

void answer_error(char *out, size_t size, const char *text, size_t len)
{
	struct error_text error = { out, size };
	struct json_scan s = scan_of(text, len);

	out[0] = '\0';
	(void)take_object(&s, take_error, &error);
	for (; *out != '\0'; out++) {
		if ((unsigned char)*out < ' ' || (unsigned char)*out > '~') {
			*out = ' ';
		}
	}
}
