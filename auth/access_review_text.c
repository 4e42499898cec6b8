#include "auth/access_review_text.h"

#include "kube/json_value.h"
#include "lib/buffer.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char alphanumeric[] =
	"abcdefghijklmnopqrstuvwxyz"
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/* ---- TokenReview ---- */

bool access_review_is_token(const char *token)
{
	size_t len = strlen(token);

	for (size_t i = 0; i < len; i++) {
		if (strchr(alphanumeric, token[i]) == NULL &&
			strchr("-._~+/=", token[i]) == NULL) {
			return false;
		}
	}
	return len > 0;
}

char *access_review_token_body(const char *token, const char *audience)
{
	static const char format[] =
		"{\"apiVersion\":\"authentication.k8s.io/v1\","
		"\"kind\":\"TokenReview\",\"spec\":{\"token\":\"%s\"%s%s%s}}";
	size_t size = sizeof(format) + strlen(token) + 64 +
		(audience == NULL ? 0 : strlen(audience));
	/* Allocated once: a buffer that grows would leave copies behind. */
	char *body = xcalloc(1, size);

	(void)snprintf(body, size, format, token,
		audience == NULL ? "" : ",\"audiences\":[\"",
		audience == NULL ? "" : audience,
		audience == NULL ? "" : "\"]");
	return body;
}

static void write_texts(struct json *j, const char *key,
	const struct json_value *list)
{
	json_array(j, key);
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		if (json_value_text(v) != NULL) {
			json_string(j, NULL, json_value_text(v));
		}
	}
	json_array_end(j);
}

/* Copies groups and extra as they are, but only texts and lists of texts. */
static int copy_account(struct account *out, const struct json_value *user,
	struct error *err)
{
	scoped_buffer struct buffer groups = BUFFER_MAX(ACCOUNT_BYTES_MAX);
	scoped_buffer struct buffer extra = BUFFER_MAX(ACCOUNT_BYTES_MAX);
	const struct json_value *given = json_value_get(user, "extra");
	bool has_extra = json_value_is_object(given);
	struct json j = json_into(&groups);

	if (json_value_count(json_value_get(user, "groups")) >
			ACCOUNT_GROUPS_MAX ||
		json_value_count(given) > ACCOUNT_EXTRA_MAX) {
		return error_set(err, -EBADMSG,
			"the account has too many groups or attributes");
	}
	write_texts(&j, NULL, json_value_get(user, "groups"));
	j = json_into(&extra);
	json_object(&j, NULL);
	for (const struct json_value *v = has_extra ? json_value_first(given)
						    : NULL;
		v != NULL; v = json_value_next(v)) {
		write_texts(&j, json_value_key(v), v);
	}
	json_object_end(&j);
	if (groups.overflowed || extra.overflowed) {
		return error_set(err, -EBADMSG,
			"the account's groups and attributes are too large");
	}
	out->groups = buffer_take(&groups, NULL);
	out->extra = buffer_take(&extra, NULL);
	return 0;
}

/* The first text under a key of user.extra; the caller frees it. */
static char *first_extra(const struct json_value *user, const char *key)
{
	const struct json_value *list =
		json_value_get(json_value_get(user, "extra"), key);
	const char *text = json_value_text(json_value_first(list));

	return text == NULL || *text == '\0' ? NULL : xstrdup(text);
}

static bool has_text(const struct json_value *list, const char *text)
{
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		const char *t = json_value_text(v);

		if (t != NULL && strcmp(t, text) == 0) {
			return true;
		}
	}
	return false;
}

static int read_status(struct account *out, const struct json_value *status,
	const char *audience, struct error *err)
{
	const struct json_value *user = json_value_get(status, "user");
	const char *name = json_value_text_at(user, "username", "");
	const char *uid = json_value_text_at(user, "uid", NULL);
	int r;

	if (!json_value_is_object(status)) {
		return error_set(err, -EBADMSG,
			"the API server's response is not a TokenReview");
	}
	if (!json_value_true(json_value_get(status, "authenticated"))) {
		return error_set(err, -EACCES, "the token is not accepted: %s",
			json_value_text_at(status, "error",
				"not authenticated"));
	}
	/* A server that does not support audiences accepts any token. */
	if (audience != NULL &&
		!has_text(json_value_get(status, "audiences"), audience)) {
		return error_set(err, -EACCES,
			"the token is not accepted: its audience is not '%s'",
			audience);
	}
	if (*name == '\0') {
		return error_set(err, -EBADMSG,
			"the API server's TokenReview has no user name");
	}
	r = copy_account(out, user, err);
	if (r < 0) {
		return r;
	}
	out->user = xstrdup(name);
	out->uid = uid == NULL ? NULL : xstrdup(uid);
	out->node = first_extra(user, "authentication.kubernetes.io/node-name");
	out->pod = first_extra(user, "authentication.kubernetes.io/pod-name");
	out->pod_uid =
		first_extra(user, "authentication.kubernetes.io/pod-uid");
	return 0;
}

int access_review_read_account(struct account *out, const char *body,
	size_t len, const char *audience, struct error *err)
{
	struct account account = { 0 };
	struct json_value *answer;
	int r = json_value_parse(&answer, body, len, err);

	if (r < 0) {
		return error_wrap(err, r, "TokenReview");
	}
	r = read_status(&account, json_value_get(answer, "status"), audience,
		err);
	json_value_free(answer);
	if (r < 0) {
		account_fini(&account);
		return r;
	}
	*out = account;
	return 0;
}

/* ---- the node ---- */

/* A valid name of a namespace or pod, which is safe in a path. */
static bool is_name(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (strchr(alphanumeric, text[i]) == NULL &&
			(i == 0 || strchr("-.", text[i]) == NULL)) {
			return false;
		}
	}
	return len > 0 && len < 254;
}

int access_review_pod_path(char **out, const struct account *account,
	struct error *err)
{
	size_t len;
	const char *space = account_service_namespace(&len, account->user);

	if (account->pod == NULL || account->pod_uid == NULL || space == NULL) {
		return error_set(err, -EPERM,
			"the token of '%.120s' is not bound to a pod, so its "
			"node is unknown",
			account->user);
	}
	if (space[len] != ':' || !is_name(space, len) ||
		!is_name(account->pod, strlen(account->pod))) {
		return error_set(err, -EPERM,
			"the token of '%.120s' names an invalid pod",
			account->user);
	}
	*out = xasprintf("/api/v1/namespaces/%.*s/pods/%s", (int)len, space,
		account->pod);
	return 0;
}

static int compare_node(const struct account *account, const char *actual,
	const char *node, struct error *err)
{
	return strcmp(actual, node) == 0
		? 0
		: error_set(err, -EPERM,
			  "the token of '%.80s' belongs to node '%.70s', not "
			  "'%.70s'",
			  account->user, actual, node);
}

int access_review_check_node(const struct account *account, const char *node,
	struct error *err)
{
	return compare_node(account, account->node, node, err);
}

static int check_pod(const struct account *account, const char *node,
	const struct json_value *pod, struct error *err)
{
	const char *uid = json_value_text_at(pod, "metadata/uid", NULL);
	const char *actual = json_value_text_at(pod, "spec/nodeName", "");

	if (uid == NULL) {
		return error_set(err, -EBADMSG,
			"the API server's response is not a pod");
	}
	if (strcmp(uid, account->pod_uid) != 0) {
		return error_set(err, -EPERM,
			"the token of '%.80s' belongs to an earlier pod "
			"'%.100s'",
			account->user, account->pod);
	}
	return compare_node(account, actual, node, err);
}

int access_review_check_pod(const struct account *account, const char *node,
	const char *body, size_t len, struct error *err)
{
	struct json_value *pod;
	int r = json_value_parse(&pod, body, len, err);

	if (r < 0) {
		return error_wrap(err, r, "pod");
	}
	r = check_pod(account, node, pod, err);
	json_value_free(pod);
	return r;
}

static bool is_leaving(const struct json_value *pods, const char *uid)
{
	for (const struct json_value *pod = json_value_first(pods); pod != NULL;
		pod = json_value_next(pod)) {
		if (strcmp(json_value_text_at(pod, "metadata/uid", ""), uid) ==
			0) {
			return json_value_text_at(pod,
				       "metadata/deletionTimestamp",
				       NULL) != NULL;
		}
	}
	return true;
}

int access_review_read_pods(bool *leaves, const char *uid, const char *body,
	size_t len, struct error *err)
{
	struct json_value *answer;
	const struct json_value *pods;
	int r = json_value_parse(&answer, body, len, err);

	if (r < 0) {
		return error_wrap(err, r, "pods");
	}
	pods = json_value_get(answer, "items");
	if (json_value_is_array(pods)) {
		*leaves = is_leaving(pods, uid);
	} else {
		r = error_set(err, -EBADMSG,
			"the API server's response is not a list of pods");
	}
	json_value_free(answer);
	return r;
}
