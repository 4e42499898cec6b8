#include "aggregator/apiserver/question_object.h"

#include "aggregator/apiserver/api_types.h"
#include "kube/json_scan.h"
#include "kube/json_value.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A text that may be missing must be this one. */
static bool is_or_missing(const struct json_value *body, const char *path,
	const char *text)
{
	const struct json_value *value = json_value_at(body, path);
	const char *given = json_value_text(value);

	return value == NULL || json_value_is_null(value) ||
		(given != NULL && (*given == '\0' || strcmp(given, text) == 0));
}

static int check(const struct json_value *body, const struct rest_path *path,
	struct error *err)
{
	const char *kind = api_type_of(path->kind)->kind;
	int status = 0;

	if (!json_value_is_object(body) || !is_or_missing(body, "kind", kind) ||
		!is_or_missing(body, "apiVersion", API_GROUP_VERSION)) {
		(void)error_set(err, -EINVAL,
			"the body is not a %s of " API_GROUP_VERSION, kind);
		status = 400;
	} else if (!is_or_missing(body, "metadata/namespace",
			   path->namespace)) {
		(void)error_set(err, -EINVAL,
			"the namespace of the object is not that of the "
			"request (%s)",
			path->namespace);
		status = 400;
	} else if (strlen(json_value_text_at(body, "metadata/name", "")) >=
		QUESTION_NAME_MAX) {
		(void)error_set(err, -EINVAL, "metadata.name is too long");
		status = 422;
	} else if (!json_value_is_object(json_value_get(body, "spec"))) {
		(void)error_set(err, -EINVAL, "the object has no spec");
		status = 422;
	}
	return status;
}

/* The text of the first member "spec". The body is known to be an object. */
static bool find_spec(struct json_slice *out, const char *body, size_t len)
{
	static const char wanted[] = "\"spec\"";
	struct json_scan scan = { .at = body, .end = body + len };
	struct json_slice key;

	if (!json_scan_char(&scan, '{')) {
		return false;
	}
	do {
		if (!json_scan_value(&scan, &key) ||
			!json_scan_char(&scan, ':') ||
			!json_scan_value(&scan, out)) {
			return false;
		}
		if (key.len == sizeof(wanted) - 1 &&
			memcmp(key.text, wanted, key.len) == 0) {
			return true;
		}
	} while (json_scan_char(&scan, ','));
	return false;
}

int question_object_read(struct question_object *out,
	const struct rest_path *path, const char *body, size_t len,
	struct error *err)
{
	struct json_value *value = NULL;
	struct json_slice spec;
	int status = 0;

	*out = (struct question_object){ 0 };
	if (memchr(body, '\0', len) != NULL) {
		(void)error_set(err, -EBADMSG, "invalid JSON: a NUL byte");
		return 400;
	}
	if (json_value_parse_bounded(&value, body, len, err) < 0) {
		return 400;
	}
	status = check(value, path, err);
	/* An escape in a key is legal and nobody writes it. */
	if (status == 0 &&
		(!find_spec(&spec, body, len) || *spec.text != '{')) {
		(void)error_set(err, -EINVAL, "the object has no spec");
		status = 422;
	}
	if (status == 0) {
		(void)snprintf(out->name, sizeof(out->name), "%s",
			json_value_text_at(value, "metadata/name", ""));
		out->spec = xstrndup(spec.text, spec.len);
		out->spec_len = spec.len;
	}
	json_value_free(value);
	return status;
}

void question_object_fini(struct question_object *object)
{
	free(object->spec);
	*object = (struct question_object){ 0 };
}

void question_object_write(struct buffer *out,
	const struct question_object *object, const struct rest_path *path,
	const char *status)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_string(&j, "kind", api_type_of(path->kind)->kind);
	json_string(&j, "apiVersion", API_GROUP_VERSION);
	json_object(&j, "metadata");
	if (object->name[0] != '\0') {
		json_string(&j, "name", object->name);
	}
	json_string(&j, "namespace", path->namespace);
	json_object_end(&j);
	json_raw(&j, "spec", object->spec);
	json_raw(&j, "status", status);
	json_object_end(&j);
	buffer_char(out, '\n');
}
