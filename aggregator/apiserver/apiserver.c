#include "aggregator/apiserver/apiserver.h"

#include "aggregator/apiserver/accept.h"
#include "aggregator/apiserver/api_objects.h"
#include "aggregator/apiserver/api_questions.h"
#include "aggregator/apiserver/api_status.h"
#include "aggregator/apiserver/discovery.h"
#include "aggregator/apiserver/front_proxy_watch.h"
#include "aggregator/apiserver/openapi.h"
#include "aggregator/http/reply.h"
#include "aggregator/ingest/ingest.h"
#include "auth/access_review.h"
#include "auth/subject_access.h"
#include "kube/selector.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DOCUMENT_MAX = 1 << 20, HEADERS_MAX = 512 };
#define LOG_AGAIN_US UINT64_C(60000000)

struct apiserver {
	struct httpd_listener *listener;
	struct front_proxy_watch *proxy; /* NULL: stopping */
	struct access_review *review;
	struct api_sources sources;
	struct api_questions *questions;
	struct log_limit refusals;
};

/* ---- the caller ---- */

static void refuse(struct apiserver *server, struct httpd_request *request,
	int status, const struct error *why)
{
	if (log_allow(&server->refusals, clock_monotonic_us(), LOG_AGAIN_US,
		    NULL)) {
		log_warning("API request refused", log_err(why), LOG_END);
	}
	httpd_reply_error(request, status, "%s", why->text);
}

struct headers {
	struct front_proxy_header items[HEADERS_MAX];
	size_t count;
	bool is_full;
};

static void add_header(void *owner, const char *name, const char *value)
{
	struct headers *headers = owner;

	if (headers->count < HEADERS_MAX) {
		headers->items[headers->count++] =
			(struct front_proxy_header){ name, value };
	} else {
		headers->is_full = true;
	}
}

/* The user whom the front proxy names. */
static int identify(struct account *out, const struct front_proxy *proxy,
	const struct httpd_request *request, struct error *err)
{
	scoped_free struct headers *headers = xcalloc(1, sizeof(*headers));
	char certificate[HTTPD_CLIENT_NAME_MAX];
	int r = httpd_client_name(certificate, request, err);

	if (r < 0) {
		return r;
	}
	httpd_each_header(request, add_header, headers);
	if (headers->is_full) {
		return error_set(err, -E2BIG, "more than %d headers",
			HEADERS_MAX);
	}
	return front_proxy_account(out, proxy, certificate, headers->items,
		headers->count, err);
}

/* ---- documents ---- */

struct document {
	const char *path;
	void (*write)(struct buffer *out);
};

static void write_ok(struct buffer *out)
{
	buffer_text(out, "ok\n");
}

static const struct document documents[] = {
	{ "/", discovery_paths },
	{ "/apis", discovery_groups },
	{ "/apis/" API_GROUP, discovery_group },
	{ "/apis/" API_GROUP_VERSION, discovery_resources },
	{ "/openapi/v2", openapi_v2 },
	{ "/openapi/v3", openapi_index },
	{ "/openapi/v3/apis/" API_GROUP_VERSION, openapi_v3 },
	{ "/version", discovery_version },
	{ "/livez", write_ok },
	{ "/readyz", write_ok },
	{ "/healthz", write_ok },
};

static const struct document *find_document(const char *path)
{
	for (size_t i = 0; i < count_of(documents); i++) {
		if (strcmp(documents[i].path, path) == 0) {
			return &documents[i];
		}
	}
	return NULL;
}

static bool is_read(const struct httpd_request *request)
{
	return strcmp(httpd_method(request), "GET") == 0 ||
		strcmp(httpd_method(request), "HEAD") == 0;
}

static void reply_only_get(struct httpd_request *request)
{
	httpd_reply_error(request, 405, "only GET is supported here");
}

static void serve_document(const struct document *document,
	struct httpd_request *request)
{
	scoped_buffer struct buffer body = BUFFER_MAX(DOCUMENT_MAX);
	bool has_forms = document->write == discovery_groups;
	enum accept_form form = has_forms
		? accept_choose(httpd_header(request, "Accept"),
			  1u << ACCEPT_JSON | 1u << ACCEPT_DISCOVERY)
		: ACCEPT_JSON;

	if (!is_read(request)) {
		reply_only_get(request);
	} else if (form == ACCEPT_NONE) {
		httpd_reply_error(request, 406,
			"only application/json is served, also as "
			"apidiscovery.k8s.io/v2");
	} else {
		(form == ACCEPT_DISCOVERY ? discovery_aggregated
					  : document->write)(&body);
		httpd_reply(request, 200,
			document->write == write_ok ? "text/plain"
						    : accept_type(form),
			body.data, body.len);
	}
}

/* ---- the page ---- */

/* The name of the file of the page at this path; NULL: the path is another's.
 * RBAC of kube-apiserver knows the page as the resource `ui`. */
static const char *page_file(const char *path)
{
	static const char root[] = API_ROOT "ui";
	size_t len = sizeof(root) - 1;

	if (strncmp(path, root, len) != 0) {
		return NULL;
	}
	if (path[len] == '\0') {
		return "index.html";
	}
	return path[len] == '/' ? path + len + 1 : NULL;
}

static void serve_page(struct httpd_request *request, const char *name)
{
	if (is_read(request)) {
		reply_page_file(request, name);
	} else {
		reply_only_get(request);
	}
}

/* ---- objects ---- */

/* A request that waits for its access review. */
struct pending {
	const struct apiserver *server;
	struct httpd_request *request;
	struct rest_path path;
};

/* As kube-apiserver words it. */
static void reply_forbidden(const struct pending *pending,
	const struct error *why)
{
	const struct rest_path *path = &pending->path;

	httpd_reply_error(pending->request, 403,
		"%s." API_GROUP "%s%.253s%s is forbidden: %s",
		api_plural(path->kind), path->name[0] == '\0' ? "" : " \"",
		path->name, path->name[0] == '\0' ? "" : "\"", why->text);
}

static void on_reviewed(void *owner, enum access_review_outcome outcome,
	const struct error *why)
{
	struct pending *pending = owner;

	if (outcome == ACCESS_REVIEW_ALLOWED) {
		api_objects_serve(&pending->server->sources, &pending->path,
			pending->request);
	} else if (outcome == ACCESS_REVIEW_FORBIDDEN) {
		reply_forbidden(pending, why);
	} else {
		httpd_reply_error(pending->request, 503, "%s", why->text);
	}
	free(pending);
}

/* A list of one name needs the right for that name only, as at
 * kube-apiserver. The caller frees the name. */
static char *selected_name(const struct httpd_request *request)
{
	struct selector fields = { 0 };
	const char *name = NULL;
	char *copy;

	if (selector_parse_fields(&fields,
		    httpd_query(request, "fieldSelector"), NULL) == 0) {
		name = selector_required(&fields, "metadata.name");
	}
	copy = name == NULL ? NULL : xstrdup(name);
	selector_fini(&fields);
	return copy;
}

static void ask(struct apiserver *server, const struct account *account,
	const struct rest_path *path, struct httpd_request *request)
{
	bool is_list = path->name[0] == '\0';
	scoped_free char *selected = is_list ? selected_name(request) : NULL;
	const struct subject_access access = {
		.verb = is_list ? "list" : "get",
		.group = API_GROUP,
		.version = API_VERSION,
		.resource = api_plural(path->kind),
		.subresource = rest_path_subresource(path),
		.namespace = path->namespace,
		.name = is_list ? selected : path->name,
	};
	struct pending *pending = xcalloc(1, sizeof(*pending));

	pending->server = server;
	pending->request = request;
	pending->path = *path;
	access_review_resource(server->review,
		&(struct access_review_resource_request){ .account = account,
			.access = &access,
			.done = on_reviewed,
			.owner = pending });
}

/* Takes what account holds for a question, which needs it longer. */
static void serve_objects(struct apiserver *server, struct account *account,
	struct httpd_request *request)
{
	struct rest_path path;
	struct error error;
	int status = 0;

	if (rest_path_parse(&path, httpd_path(request), &error) < 0) {
		status = 404;
	} else if (!api_is_question(path.kind)) {
		status = api_objects_check(request, &error);
	}
	if (status != 0) {
		httpd_reply_error(request, status, "%s", error.text);
	} else if (!api_objects_take_place(&path, request)) {
		return;
	} else if (api_is_question(path.kind)) {
		api_questions_serve(server->questions, account, &path, request);
	} else {
		ask(server, account, &path, request);
	}
}

static void serve(void *owner, struct httpd_request *request)
{
	struct apiserver *server = owner;
	const struct front_proxy *proxy = server->proxy == NULL
		? NULL
		: front_proxy_watch_settings(server->proxy);
	const struct document *document = find_document(httpd_path(request));
	const char *file = page_file(httpd_path(request));
	struct account account = { 0 };
	scoped_free char *peer = NULL;
	struct error error;

	if (proxy == NULL) {
		(void)error_set(&error, -EAGAIN,
			"the front proxy's settings are not known yet "
			"(ConfigMap kube-system/"
			"extension-apiserver-authentication)");
		refuse(server, request, 503, &error);
		return;
	}
	if (identify(&account, proxy, request, &error) < 0) {
		refuse(server, request, 401, &error);
		return;
	}
	peer = account_peer(account.user);
	httpd_set_user(request, peer);
	if (document != NULL) {
		serve_document(document, request);
	} else if (file != NULL) {
		serve_page(request, file);
	} else {
		serve_objects(server, &account, request);
	}
	account_fini(&account);
}

/* ---- all ---- */

int apiserver_new(struct apiserver **out, uv_loop_t *loop,
	const struct apiserver_options *options, struct error *err)
{
	struct apiserver *server = xcalloc(1, sizeof(*server));
	int r = httpd_listener_new(&server->listener, loop,
		&(struct httpd_listener_options){ .address = options->address,
			.tls = options->tls,
			.use = "api",
			.asks_certificates = true,
			.bodies = api_question_bodies,
			.body_count = API_QUESTION_BODIES,
			.write_error = api_status_write,
			.serve = serve,
			.owner = server },
		err);

	if (r < 0) {
		free(server);
		return r;
	}
	server->review = options->review;
	server->sources = (struct api_sources){ .api = options->api,
		.nodes = options->nodes,
		.pods = options->pods,
		.listener = server->listener,
		.waits = options->waits };
	options->api->kubernetes = server->listener;
	server->questions = api_questions_new(loop,
		ingest_questions(options->api->ingest), options->review);
	server->proxy = front_proxy_watch_new(options->kube, server->listener);
	*out = server;
	return 0;
}

const struct httpd_listener *apiserver_listener(const struct apiserver *server)
{
	return server == NULL ? NULL : server->listener;
}

void apiserver_set_open(struct apiserver *server)
{
	if (server != NULL) {
		server->sources.is_open = true;
	}
}

void apiserver_poll(struct apiserver *server)
{
	if (server != NULL) {
		front_proxy_watch_poll(server->proxy);
	}
}

void apiserver_stop(struct apiserver *server)
{
	if (server != NULL) {
		server->sources.is_open = false;
		api_questions_stop(server->questions);
		front_proxy_watch_close(take_ptr(server->proxy));
	}
}

void apiserver_close(struct apiserver *server)
{
	if (server != NULL) {
		api_questions_free(server->questions);
		httpd_listener_close(server->listener);
		free(server);
	}
}
