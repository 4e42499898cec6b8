#include "kubectl/api_client.h"

#include "kube/json_scan.h"
#include "kube/json_value.h"
#include "kube/url_query.h"
#include "kubectl/call.h"
#include "kubectl/flags.h"
#include "kubectl/terminal.h"
#include "lib/files.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a pod finds its namespace, as client-go does. */
#define OWN_NAMESPACE "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

enum { PATH_LENGTH_MAX = 16 << 10, NAMESPACE_MAX = 256 };

void api_client_init(struct api_client *client, const struct flags *flags)
{
	*client = (struct api_client){ .flags = flags,
		.complaint = BUFFER_MAX(CALL_COMPLAINT_MAX + 512) };
}

void api_client_fini(struct api_client *client)
{
	free(client->namespace);
	buffer_fini(&client->complaint);
	*client = (struct api_client){ 0 };
}

void api_client_forgive(struct api_client *client)
{
	buffer_clear(&client->complaint);
	client->status = 0;
	client->is_reported = false;
}

/* The arguments, and the global flags before a "--" or at the end. */
void api_client_arguments(const char **out, const struct api_client *client,
	const char *const *arguments)
{
	const struct flags *flags = client->flags;
	size_t count = 0;

	for (size_t i = 0; i < API_CLIENT_ARGUMENTS_MAX && arguments[i] != NULL;
		i++) {
		out[count++] = arguments[i];
	}
	for (size_t i = 0; i < flags->global_count; i++) {
		out[count++] = flags->globals[i];
	}
	out[count] = NULL;
}

/* Whether a line begins with these words; warnings may stand before it. */
static bool has_line(const struct buffer *text, const char *words)
{
	const char *line = text->len > 0 ? text->data : NULL;

	while (line != NULL && strncmp(line, words, strlen(words)) != 0) {
		line = strchr(line, '\n');
		line = line == NULL ? NULL : line + 1;
	}
	return line != NULL;
}

/* The first line of what kubectl says about a missing API. */
#define NO_RESOURCE                                                            \
	"Error from server (NotFound): the server could not find the "         \
	"requested resource"
#define NO_SERVICE                                                             \
	"Error from server (ServiceUnavailable): the server is currently "     \
	"unable to handle the request"

void api_client_explain(struct api_client *client, const char *path)
{
	struct buffer *text = &client->complaint;
	bool is_ours = strncmp(path, LOAD_API, strlen(LOAD_API)) == 0;

	if (is_ours && has_line(text, NO_RESOURCE)) {
		buffer_clear(text);
		buffer_text(text,
			"error: this cluster does not serve "
			"load.plimsoll.io/v1alpha1: an administrator has to "
			"apply deploy/overlays/kubectl, or to set "
			"kubectl.enabled of the chart\n");
	} else if (is_ours && has_line(text, NO_SERVICE)) {
		buffer_text(text,
			"plimsoll's API is registered but does not answer: see "
			"kubectl describe apiservice "
			"v1alpha1.load.plimsoll.io\n");
	} else if (strncmp(path, KUBEVIRT_API, strlen(KUBEVIRT_API)) == 0 &&
		has_line(text, NO_RESOURCE)) {
		buffer_clear(text);
		buffer_text(text,
			"error: this cluster does not serve kubevirt.io/v1: "
			"KubeVirt is not installed\n");
	}
}

bool api_client_is_refused(const struct api_client *client)
{
	const struct buffer *text = &client->complaint;

	/* kubectl says "is invalid" of status 422 alone. */
	return client->status != 0 &&
		(has_line(text, "Error from server") ||
			(has_line(text, "The ") &&
				strstr(text->data, " is invalid") != NULL));
}

static int failure_code(const struct buffer *complaint)
{
	if (has_line(complaint, "Error from server (NotFound)")) {
		return -ENOENT;
	}
	return has_line(complaint, "Error from server (Forbidden)")
		? -EACCES
		: -EREMOTEIO;
}

static int run(struct buffer *out, struct api_client *client,
	const struct call *call, struct error *err)
{
	const char *all[API_CLIENT_ARGUMENTS_MAX + FLAGS_GLOBAL_MAX + 1];
	struct call with_flags = *call;
	struct call_result result = { 0 };
	int r;

	api_client_arguments(all, client, call->arguments);
	with_flags.arguments = all;
	api_client_forgive(client);
	r = call_run(&result, &with_flags, err);
	if (r == 0 && result.status != 0) {
		client->status = result.status;
		buffer_append(&client->complaint, result.complaint.data,
			result.complaint.len);
		r = error_set(err, failure_code(&result.complaint),
			"kubectl ended with status %d", result.status);
	}
	if (r == 0 && result.complaint.len > 0) { /* warnings */
		terminal_lines_to_error(result.complaint.data,
			result.complaint.len);
	}
	if (r == 0 && out != NULL) {
		*out = result.out;
		result.out = (struct buffer){ 0 };
	}
	call_result_fini(&result);
	return r;
}

int api_client_run(struct buffer *out, struct api_client *client,
	const char *const *arguments, const char *input, struct error *err)
{
	struct call call = { .arguments = arguments, .input = input };

	return run(out, client, &call, err);
}

int api_client_show(struct api_client *client, const char *const *arguments,
	struct error *err)
{
	struct call call = { .arguments = arguments, .is_shown = true };
	int r = run(NULL, client, &call, err);

	client->is_reported = r < 0 && client->status != 0;
	return r;
}

/* Runs a request and parses what it answers. */
static int ask(struct json_value **out, struct api_client *client,
	const struct call *call, const char *path, struct error *err)
{
	scoped_buffer struct buffer text = { 0 };
	int r = run(&text, client, call, err);

	if (r < 0) {
		api_client_explain(client, path);
		return r;
	}
	r = json_scan_parse_object(out, text.data == NULL ? "" : text.data,
		text.len, err);
	return r < 0 ? error_wrap(err, r, "the answer to %.160s", path) : 0;
}

int api_client_get(struct json_value **out, struct api_client *client,
	const char *path, struct error *err)
{
	const char *const arguments[] = { "get", "--raw", path, NULL };
	struct call call = { .arguments = arguments };

	return ask(out, client, &call, path, err);
}

int api_client_post(struct json_value **out, struct api_client *client,
	const char *path, const char *body, struct error *err)
{
	const char *const arguments[] = { "create", "--raw", path, "-f", "-",
		NULL };
	struct call call = { .arguments = arguments, .input = body };

	return ask(out, client, &call, path, err);
}

static bool is_token_expired(const struct api_client *client)
{
	return has_line(&client->complaint, "Error from server (Expired)") ||
		has_line(&client->complaint, "Error from server (Gone)");
}

/* Everything a list needs between two pages. */
struct listing {
	struct api_client *client;
	api_client_each each;
	void *owner;
	size_t bytes;
};

/* Gets one page; *next is where the list goes on, or NULL. */
static int get_page(struct listing *listing, const char *path, char **next,
	struct error *err)
{
	const char *const arguments[] = { "get", "--raw", path, NULL };
	struct call call = { .arguments = arguments };
	scoped_buffer struct buffer text = { 0 };
	struct json_value *page = NULL;
	const struct json_value *item;
	const char *token;
	int r = run(&text, listing->client, &call, err);

	if (r < 0) {
		api_client_explain(listing->client, path);
		return r;
	}
	listing->bytes += text.len;
	if (listing->bytes > API_CLIENT_LIST_MAX) {
		return error_set(err, -EFBIG, "a list of more than %d MiB",
			API_CLIENT_LIST_MAX >> 20);
	}
	r = json_scan_parse_object(&page, text.data == NULL ? "" : text.data,
		text.len, err);
	if (r < 0) {
		return error_wrap(err, r, "the answer to %.160s", path);
	}
	for (item = json_value_first(json_value_get(page, "items"));
		item != NULL; item = json_value_next(item)) {
		listing->each(listing->owner, item);
	}
	token = json_value_text_at(page, "metadata/continue", "");
	*next = *token == '\0' ? NULL : xstrndup(token, PATH_LENGTH_MAX / 2);
	json_value_free(page);
	return 0;
}

/* All pages, once. *is_expired: the server does not know the token any more. */
static int list_once(struct listing *listing, const char *path,
	bool *is_expired, struct error *err)
{
	scoped_free char *next = NULL;
	char limit[16];

	(void)snprintf(limit, sizeof(limit), "%d", API_CLIENT_PAGE);
	do {
		scoped_buffer struct buffer url = BUFFER_MAX(PATH_LENGTH_MAX);
		scoped_free char *token = take_ptr(next);
		int r;

		buffer_text(&url, path);
		url_query_add(&url, "limit", limit);
		url_query_add(&url, "continue", token);
		if (url.overflowed) {
			return error_set(err, -E2BIG, "the path is too long");
		}
		r = get_page(listing, url.data, &next, err);
		if (r < 0) {
			*is_expired = token != NULL &&
				is_token_expired(listing->client);
			return r;
		}
		if (next != NULL && token != NULL && strcmp(next, token) == 0) {
			return error_set(err, -EBADMSG,
				"the list does not go on");
		}
	} while (next != NULL);
	return 0;
}

int api_client_list(struct api_client *client, const char *path,
	api_client_each each, void *owner, struct error *err)
{
	for (int i = 1;; i++) {
		struct listing listing = { client, each, owner, 0 };
		bool is_expired = false;
		int r = list_once(&listing, path, &is_expired, err);

		if (!is_expired || i == API_CLIENT_LIST_TRIES) {
			return r;
		}
		each(owner, NULL);
	}
}

/* The namespace of kubectl's context, or of the pod that this runs in. */
static char *find_namespace(struct api_client *client)
{
	static const char *const arguments[] = { "config", "view", "--minify",
		"-o", "jsonpath={..namespace}", NULL };
	scoped_buffer struct buffer out = { 0 };
	const char *from_env = getenv("POD_NAMESPACE");
	char name[NAMESPACE_MAX];
	bool has_context =
		api_client_run(&out, client, arguments, NULL, NULL) == 0;

	api_client_forgive(client);
	if (has_context) {
		return xstrdup(out.len > 0 && flags_is_name(out.data)
				? out.data
				: "default");
	}
	if (from_env != NULL && flags_is_name(from_env)) {
		return xstrdup(from_env);
	}
	if (file_read_at(name, sizeof(name), -1, OWN_NAMESPACE, NULL) > 0 &&
		flags_is_name(name)) {
		return xstrdup(name);
	}
	return xstrdup("default");
}

const char *api_client_namespace(struct api_client *client)
{
	if (client->flags->namespace != NULL) {
		return client->flags->namespace;
	}
	if (client->namespace == NULL) {
		client->namespace = find_namespace(client);
	}
	return client->namespace;
}

void api_client_use_namespace(struct api_client *client, const char *name)
{
	xreplace(&client->namespace, name);
}
