#include "scheduler/admission/review.h"

#include "kube/json_value.h"
#include "lib/base64.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "scheduler/admission/unplaceable.h"
#include "scheduler/objects/launcher.h"

#include <errno.h>
#include <string.h>

static const char version[] = "admission.k8s.io/v1";
static const char kind[] = "AdmissionReview";

enum { PATCH_MAX = 8192 };

static bool is_text(const struct json_value *value, const char *text)
{
	const char *found = json_value_text(value);

	return found != NULL && strcmp(found, text) == 0;
}

/* A missing value, null or "". */
static bool is_unset(const struct json_value *value)
{
	return value == NULL || json_value_is_null(value) || is_text(value, "");
}

bool review_is_unclaimed(const struct json_value *pod)
{
	const struct json_value *labels = json_value_at(pod, "metadata/labels");
	const struct json_value *name =
		json_value_at(pod, "spec/schedulerName");

	return launcher_has_label(pod) &&
		!is_text(json_value_get(labels, REVIEW_LABEL),
			REVIEW_OPT_OUT) &&
		(is_unset(name) || is_text(name, REVIEW_DEFAULT_SCHEDULER));
}

static bool creates_pod(const struct json_value *request)
{
	const struct json_value *resource = json_value_get(request, "resource");

	return is_text(json_value_get(request, "operation"), "CREATE") &&
		is_unset(json_value_get(resource, "group")) &&
		is_text(json_value_get(resource, "version"), "v1") &&
		is_text(json_value_get(resource, "resource"), "pods") &&
		is_unset(json_value_get(request, "subResource"));
}

static bool wants_name(const struct json_value *request)
{
	const struct json_value *pod = json_value_get(request, "object");

	return creates_pod(request) && review_is_unclaimed(pod) &&
		json_value_is_object(json_value_get(pod, "spec")) &&
		is_unset(json_value_at(pod, "spec/nodeName"));
}

static enum review_outcome decide(const struct review_by *by,
	const struct json_value *request)
{
	scoped_free char *why = NULL;

	if (!wants_name(request)) {
		return REVIEW_LEFT;
	}
	why = unplaceable_why(by->storage,
		json_value_text_at(request, "namespace", ""),
		json_value_get(request, "object"));
	return why == NULL ? REVIEW_NAMED : REVIEW_UNSUPPORTED;
}

/* "add" replaces a member that is there (RFC 6902, 4.1). */
static void write_patch(struct json *j, const char *scheduler_name)
{
	scoped_buffer struct buffer patch = BUFFER_MAX(PATCH_MAX);
	scoped_free char *text = NULL;
	struct json p = json_into(&patch);

	json_array(&p, NULL);
	json_object(&p, NULL);
	json_string(&p, "op", "add");
	json_string(&p, "path", "/spec/schedulerName");
	json_string(&p, "value", scheduler_name);
	json_object_end(&p);
	json_array_end(&p);
	text = base64_encode(patch.data, patch.len);
	json_string(j, "patchType", "JSONPatch");
	json_string(j, "patch", text);
}

static void write_answer(struct buffer *out, const char *uid,
	const char *scheduler_name)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_string(&j, "apiVersion", version);
	json_string(&j, "kind", kind);
	json_object(&j, "response");
	json_string(&j, "uid", uid);
	json_bool(&j, "allowed", true);
	if (scheduler_name != NULL) {
		write_patch(&j, scheduler_name);
	}
	json_object_end(&j);
	json_object_end(&j);
}

static int check(const struct json_value *review, struct error *err)
{
	const struct json_value *request = json_value_get(review, "request");
	const struct json_value *object = json_value_get(request, "object");
	const char *uid = json_value_text_at(request, "uid", "");

	if (!is_text(json_value_get(review, "apiVersion"), version) ||
		!is_text(json_value_get(review, "kind"), kind)) {
		return error_set(err, -EBADMSG, "the body is not an %s of %s",
			kind, version);
	}
	if (!json_value_is_object(request)) {
		return error_set(err, -EBADMSG, "'request' is not an object");
	}
	if (*uid == '\0' || strlen(uid) > REVIEW_UID_MAX) {
		return error_set(err, -EBADMSG,
			"'request.uid' is not a text of 1 to %d bytes",
			REVIEW_UID_MAX);
	}
	if (object != NULL && !json_value_is_null(object) &&
		!json_value_is_object(object)) {
		return error_set(err, -EBADMSG,
			"'request.object' is not an object");
	}
	return 0;
}

int review_answer(struct buffer *out, enum review_outcome *outcome,
	const struct review_by *by, const char *body, size_t len,
	struct error *err)
{
	const struct json_value *request;
	struct json_value *review = NULL;
	int r = json_value_parse_bounded(&review, body, len, err);

	*outcome = REVIEW_INVALID;
	if (r == 0) {
		r = check(review, err);
	}
	if (r == 0) {
		request = json_value_get(review, "request");
		*outcome = decide(by, request);
		write_answer(out, json_value_text_at(request, "uid", ""),
			*outcome == REVIEW_NAMED ? by->scheduler_name : NULL);
	}
	json_value_free(review);
	return r;
}
