#include "auth/subject_access.h"

#include "kube/json_value.h"
#include "lib/json.h"

#include <errno.h>

static bool is_given(const char *text)
{
	return text != NULL && *text != '\0';
}

static void write_given(struct json *j, const char *key, const char *text)
{
	if (is_given(text)) {
		json_string(j, key, text);
	}
}

static void write_attributes(struct json *j,
	const struct subject_access *access)
{
	if (access->path != NULL) {
		json_object(j, "nonResourceAttributes");
		json_string(j, "path", access->path);
		json_string(j, "verb", access->verb);
	} else {
		json_object(j, "resourceAttributes");
		write_given(j, "namespace", access->namespace);
		json_string(j, "verb", access->verb);
		write_given(j, "group", access->group);
		write_given(j, "version", access->version);
		write_given(j, "resource", access->resource);
		write_given(j, "subresource", access->subresource);
		write_given(j, "name", access->name);
	}
	json_object_end(j);
}

void subject_access_write(struct buffer *out, const struct account *account,
	const struct subject_access *access)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_string(&j, "apiVersion", "authorization.k8s.io/v1");
	json_string(&j, "kind", "SubjectAccessReview");
	json_object(&j, "spec");
	write_attributes(&j, access);
	json_string(&j, "user", account->user);
	if (account->uid != NULL) {
		json_string(&j, "uid", account->uid);
	}
	json_raw(&j, "groups", account->groups);
	json_raw(&j, "extra", account->extra);
	json_object_end(&j);
	json_object_end(&j);
}

int subject_access_read(bool *is_allowed, const char *body, size_t len,
	struct error *err)
{
	struct json_value *answer;
	bool is_answer;
	int r = json_value_parse(&answer, body, len, err);

	if (r < 0) {
		return error_wrap(err, r, "SubjectAccessReview");
	}
	is_answer = json_value_is_object(json_value_get(answer, "status"));
	if (is_answer) {
		*is_allowed = json_value_true(json_value_at(answer,
				      "status/allowed")) &&
			!json_value_true(
				json_value_at(answer, "status/denied"));
	} else {
		r = error_set(err, -EBADMSG,
			"the API server's response is not a "
			"SubjectAccessReview");
	}
	json_value_free(answer);
	return r;
}

/* As forbiddenMessage() of k8s.io/apiserver words it. */
static void refuse_resource(struct error *out, const struct account *account,
	const struct subject_access *access)
{
	const char *part =
		is_given(access->subresource) ? access->subresource : "";
	const char *namespace = access->namespace;

	(void)error_set(out, -EACCES,
		"User \"%.100s\" cannot %s resource \"%s%s%s\" in API group "
		"\"%s\" %s%s%s",
		account->user, access->verb, access->resource,
		*part == '\0' ? "" : "/", part,
		access->group == NULL ? "" : access->group,
		is_given(namespace) ? "in the namespace \""
				    : "at the cluster scope",
		is_given(namespace) ? namespace : "",
		is_given(namespace) ? "\"" : "");
}

void subject_access_refuse(struct error *out, const struct account *account,
	const struct subject_access *access)
{
	if (access->path == NULL) {
		refuse_resource(out, account, access);
	} else {
		(void)error_set(out, -EACCES,
			"'%.120s' is not allowed to %s %s", account->user,
			access->verb, access->path);
	}
}
