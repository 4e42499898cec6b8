#include "kube/json_fields.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/files.h"
#include "lib/memory.h"
#include "lib/utf8.h"

int json_fields_read_file(struct buffer *out, const char *path,
	struct error *err)
{
	int r = file_read_input(out, path, err);

	buffer_text(out, "");
	return r;
}

int json_fields_number(double *out, const struct json_value *object,
	const char *key, struct json_range range, struct error *err)
{
	double number = NAN;

	if (!json_value_number(&number, json_value_get(object, key))) {
		return error_set(err, -EBADMSG, "'%s' is not a number", key);
	}
	if (!(number >= range.min && number <= range.max)) {
		return error_set(err, -ERANGE,
			"'%s' is %g, not between %g and %g", key, number,
			range.min, range.max);
	}
	*out = number;
	return 0;
}

int json_fields_whole(int64_t *out, const struct json_value *object,
	const char *key, double max, struct error *err)
{
	double number = 0;
	int r = json_fields_number(&number, object, key,
		(struct json_range){ 0, max }, err);

	if (r == 0 && number != floor(number)) {
		return error_set(err, -EBADMSG, "'%s' is not a whole number",
			key);
	}
	if (r == 0) {
		*out = (int64_t)number;
	}
	return r;
}

int json_fields_step(size_t *out, const struct json_value *object,
	const char *key, size_t max, struct error *err)
{
	int64_t step = 0;
	int r = json_fields_whole(&step, object, key, (double)max, err);

	if (r == 0) {
		*out = (size_t)step;
	}
	return r;
}

static bool is_utf8(const char *text)
{
	size_t len = 1;

	while (*text != '\0' && len > 0) {
		len = utf8_length(text);
		text += len;
	}
	return len > 0;
}

int json_fields_name(char **out, const struct json_value *object,
	const char *key, struct error *err)
{
	const char *text = json_value_text_at(object, key, "");

	if (*text == '\0' || strlen(text) > 253) {
		return error_set(err, -EBADMSG,
			"'%s' is not a name of 1 to 253 bytes", key);
	}
	if (!is_utf8(text)) {
		return error_set(err, -EBADMSG, "'%s' is not UTF-8", key);
	}
	*out = xstrdup(text);
	return 0;
}

int json_fields_list(const struct json_value **out,
	const struct json_value *object, const char *key, size_t max,
	struct error *err)
{
	const struct json_value *list = json_value_get(object, key);

	if (!json_value_is_array(list)) {
		return error_set(err, -EBADMSG, "'%s' is not a list", key);
	}
	if (json_value_count(list) > max) {
		return error_set(err, -E2BIG, "'%s' holds more than %zu", key,
			max);
	}
	*out = list;
	return 0;
}

int json_fields_optional_list(const struct json_value **out,
	const struct json_value *object, const char *key, size_t max,
	struct error *err)
{
	if (json_value_get(object, key) == NULL) {
		*out = NULL;
		return 0;
	}
	return json_fields_list(out, object, key, max, err);
}
