#include "scheduler/answers/manifest_fields.h"

#include "lib/buffer.h"

#include <errno.h>
#include <limits.h>
#include <math.h>

enum { PATH_MAX_BYTES = 256 };

static const struct json_value *set_value(const struct json_value *value)
{
	return json_value_is_null(value) ? NULL : value;
}

struct manifest_field manifest_member(const struct manifest_field *parent,
	const char *name)
{
	return (struct manifest_field){ .parent = parent,
		.name = name,
		.value = set_value(json_value_get(parent->value, name)) };
}

struct manifest_field manifest_element(const struct manifest_field *parent,
	size_t index, const struct json_value *value)
{
	return (struct manifest_field){ .parent = parent,
		.index = index,
		.value = set_value(value) };
}

static void append_path(struct buffer *out, const struct manifest_field *field)
{
	if (field->parent != NULL) {
		append_path(out, field->parent);
	}
	if (field->name == NULL) {
		buffer_printf(out, "[%zu]", field->index);
	} else {
		buffer_printf(out, "%s%s", out->len > 0 ? "." : "",
			field->name);
	}
}

int manifest_refuse(const struct manifest_field *field, const char *words,
	struct error *err)
{
	scoped_buffer struct buffer path = BUFFER_MAX(PATH_MAX_BYTES);

	append_path(&path, field);
	return error_set(err, -EINVAL, "%s %s",
		path.data != NULL ? path.data : "the manifest", words);
}

int manifest_object(const struct manifest_field *field, struct error *err)
{
	return field->value == NULL || json_value_is_object(field->value)
		? 0
		: manifest_refuse(field, "is not an object", err);
}

int manifest_text(const char **out, const struct manifest_field *field,
	struct error *err)
{
	const char *text = json_value_text(field->value);

	if (text == NULL && field->value != NULL) {
		return manifest_refuse(field, "is not a string", err);
	}
	*out = text != NULL ? text : "";
	return 0;
}

int manifest_integer(int *out, bool *is_set, const struct manifest_field *field,
	struct error *err)
{
	double number = 0;

	if (field->value != NULL &&
		(!json_value_number(&number, field->value) ||
			number != floor(number) || number < INT_MIN ||
			number > INT_MAX)) {
		return manifest_refuse(field, "is not a whole number", err);
	}
	*is_set = field->value != NULL;
	*out = (int)number;
	return 0;
}

int manifest_each(const struct manifest_field *list, manifest_check_one check,
	void *owner, struct error *err)
{
	size_t index = 0;
	int r = 0;

	if (list->value != NULL && !json_value_is_array(list->value)) {
		return manifest_refuse(list, "is not a list", err);
	}
	for (const struct json_value *v = json_value_first(list->value);
		v != NULL && r == 0; v = json_value_next(v)) {
		const struct manifest_field one =
			manifest_element(list, index++, v);

		r = check(&one, owner, err);
	}
	return r;
}
