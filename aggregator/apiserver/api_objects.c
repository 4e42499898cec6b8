#include "aggregator/apiserver/api_objects.h"

#include "aggregator/apiserver/api_outlook.h"
#include "aggregator/apiserver/api_parameters.h"
#include "aggregator/apiserver/load_list.h"
#include "aggregator/apiserver/load_wait.h"
#include "aggregator/apiserver/record_list.h"
#include "aggregator/apiserver/status_object.h"
#include "aggregator/http/api_history.h"
#include "aggregator/http/body.h"
#include "aggregator/http/sources_text.h"
#include "aggregator/http/vm_pods.h"
#include "aggregator/live/identity.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ONE_MAX = 1 << 20 };

/* ---- parameters ---- */

static bool is_set(const struct httpd_request *request, const char *name)
{
	const char *value = httpd_query(request, name);

	return value != NULL && strcmp(value, "true") == 0;
}

int api_objects_check(const struct httpd_request *request, struct error *err)
{
	const char *match = httpd_query(request, "resourceVersionMatch");
	const char *watch = httpd_query(request, "watch");

	if (strcmp(httpd_method(request), "GET") != 0 &&
		strcmp(httpd_method(request), "HEAD") != 0) {
		(void)error_set(err, -EINVAL,
			"the objects of this API are measured: they can only "
			"be read");
		return 405;
	}
	if (is_set(request, "watch") ||
		(watch != NULL && strcmp(watch, "1") == 0)) {
		(void)error_set(err, -EINVAL,
			"watch is not supported: figures change all the time, "
			"so list them again when you need new ones");
		return 405;
	}
	if (match != NULL && strcmp(match, "Exact") == 0) {
		(void)error_set(err, -EINVAL,
			"only the newest figures are known, not those of an "
			"exact resourceVersion");
		return 410;
	}
	return 0;
}

bool api_objects_take_place(const struct rest_path *path,
	struct httpd_request *request)
{
	return httpd_take_place(request,
		path->is_outlook || api_is_question(path->kind) ||
			httpd_query(request, "after") != NULL);
}

static void reply_not_found(struct httpd_request *request,
	const struct rest_path *path)
{
	httpd_reply_error(request, 404, "%s." API_GROUP " \"%.300s\" not found",
		api_plural(path->kind), path->name);
}

/* ---- loads ---- */

static void reply_one(struct httpd_request *request, struct load_list *list,
	const struct rest_path *path, enum accept_form form)
{
	scoped_buffer struct buffer body = BUFFER_MAX(ONE_MAX);
	struct json j = json_into(&body);

	if (load_list_write_one(&j, list)) {
		httpd_reply(request, 200, accept_type(form), body.data,
			body.len);
	} else {
		reply_not_found(request, path);
	}
	load_list_free(list);
}

static void take_selectors(struct load_query *query, struct api_parameters *p)
{
	query->labels = p->labels;
	query->fields = p->fields;
	p->labels = p->fields = (struct selector){ 0 };
}

static void serve_loads(const struct api_sources *sources,
	const struct rest_path *path, struct api_parameters *p,
	struct httpd_request *request)
{
	const struct api_outlook *outlook = sources->api->outlook;
	const struct load_view view = { sources->api->live,
		sources->api->identities, sources->nodes, sources->pods,
		outlook == NULL ? NULL : api_outlook_reach(outlook) };
	struct load_query query = { .kind = path->kind,
		.namespace = path->namespace,
		.name = path->name,
		.limit = p->limit,
		.form = p->form,
		.include = p->include };
	struct httpd_stream stream;

	memcpy(query.after, p->after, sizeof(query.after));
	if (path->name[0] != '\0') {
		take_selectors(&query, p);
		reply_one(request, load_list_new(&view, &query), path, p->form);
	} else if (httpd_take_stream(request)) {
		take_selectors(&query, p);
		query.cells = take_ptr(p->cells);
		stream = load_list_stream(load_list_new(&view, &query));
		httpd_reply_stream(request, 200, accept_type(p->form), &stream);
	}
}

/* ---- records ---- */

static bool matches_without_labels(const struct selector *labels)
{
	return selector_matches(labels, &(struct selector_object){ 0 });
}

static void reply_empty_list(struct httpd_request *request, enum api_kind kind,
	enum accept_form form)
{
	scoped_buffer struct buffer body = BUFFER_MAX(ONE_MAX);
	struct json j = json_into(&body);

	api_begin_list(&j, form, kind);
	api_end_list(&j, &(struct api_list_end){ 0, NULL, 0 });
	httpd_reply(request, 200, accept_type(form), body.data, body.len);
}

static void serve_records(const struct api_sources *sources,
	const struct rest_path *path, struct api_parameters *p,
	struct httpd_request *request)
{
	struct record_query query = { .kind = path->kind,
		.namespace = path->namespace,
		.name = path->name,
		.fields = p->fields,
		.epoch = live_epoch(sources->api->live),
		.limit = p->limit,
		.form = p->form,
		.include = p->include };

	if (!matches_without_labels(&p->labels)) {
		reply_empty_list(request, path->kind, p->form);
		return;
	}
	memcpy(query.after, p->after, sizeof(query.after));
	p->fields = (struct selector){ 0 };
	record_list_serve(sources->api->store, &query, request);
}

/* ---- status ---- */

static const char status_name[] = API_STATUS_NAME;

static bool has_status_field(const void *owner, const char *key,
	const struct selector_values *values)
{
	(void)owner;
	(void)key;
	return selector_values_have(values, status_name);
}

static void serve_status(const struct api_sources *sources,
	const struct rest_path *path, const struct api_parameters *p,
	struct httpd_request *request)
{
	scoped_buffer struct buffer body = BUFFER_MAX(ONE_MAX);
	struct json j = json_into(&body);
	struct status_object status;
	const struct api_item item = { .kind = API_STATUS,
		.namespace = "",
		.name = status_name,
		.revision = live_revision(sources->api->live),
		.object = &status };

	if (path->name[0] != '\0' && strcmp(path->name, status_name) != 0) {
		reply_not_found(request, path);
		return;
	}
	status_object_fill(&status, sources->api, sources->listener,
		sources->is_open);
	if (path->name[0] != '\0') {
		api_write_one(&j, p->form, p->include, &item);
	} else {
		api_begin_list(&j, p->form, path->kind);
		if (matches_without_labels(&p->labels) &&
			selector_matches(&p->fields,
				&(struct selector_object){ has_status_field,
					NULL })) {
			api_write_item(&j, p->form, p->include, &item);
		}
		api_end_list(&j,
			&(struct api_list_end){ item.revision, NULL, 0 });
	}
	httpd_reply(request, 200, accept_type(p->form), body.data, body.len);
}

/* ---- history ---- */

static void begin_history(struct json *j, const struct history_text *text)
{
	const struct history_query *query = history_query(text->history);

	json_object(j, NULL);
	json_string(j, "kind", "LoadHistory");
	json_string(j, "apiVersion", API_GROUP_VERSION);
	json_object(j, "metadata");
	json_string(j, "name", text->name);
	if (text->namespace != NULL) {
		json_string(j, "namespace", text->namespace);
	}
	json_object_end(j);
	json_seconds(j, "stepSeconds", query->step_us);
	json_seconds(j, "from", query->from_us);
	json_seconds(j, "to", query->to_us);
	sources_write(j, &text->sources);
	body_write_fields(j, query);
}

static void serve_history(const struct api_sources *sources,
	const struct rest_path *path, struct httpd_request *request)
{
	struct api_vm vm = { path->namespace, path->name, false };
	struct api_history of = { .begin = begin_history };

	if (strlen(path->namespace) >= STORE_NAME_MAX ||
		strlen(path->name) >= STORE_NAME_MAX) {
		reply_not_found(request, path);
		return;
	}
	if (path->kind == API_NODE_LOADS) {
		of.node = path->name;
	} else {
		vm.is_running = vm_pods_is_running(
			&(struct vm_pods_view){ sources->api->live,
				sources->api->identities, 0 },
			path->namespace, path->name);
		of.vm = &vm;
	}
	api_history_serve(sources->api, &of, request);
}

/* ---- all ---- */

static int status_of(int error)
{
	return error == -ESTALE ? 410 : error == -ENOMSG ? 406 : 400;
}

static void answer(const struct api_sources *sources,
	const struct rest_path *path, struct httpd_request *request,
	bool may_wait);

/* A request that waits. */
struct waiting {
	const struct api_sources *sources;
	struct rest_path path;
};

static void resume(void *owner, struct httpd_request *request)
{
	const struct waiting *waiting = owner;

	answer(waiting->sources, &waiting->path, request, false);
}

static void wait(const struct api_sources *sources,
	const struct rest_path *path, const struct api_poll *poll,
	struct httpd_request *request)
{
	struct waiting *waiting = xcalloc(1, sizeof(*waiting));

	*waiting = (struct waiting){ sources, *path };
	load_wait_add(sources->waits,
		&(struct load_wait_request){ .request = request,
			.after = poll->after,
			.seconds = poll->seconds,
			.resume = resume,
			.owner = waiting });
}

/* While no API server tells which VMs exist, the scheduler is asked. */
static bool is_no_vm(const struct api_sources *sources,
	const struct rest_path *path)
{
	const struct identities *identities = sources->api->identities;

	return path->kind == API_VM_LOADS &&
		identities_are_complete(identities) &&
		!identities_have_vm(identities, path->namespace, path->name);
}

static void serve_kind(const struct api_sources *sources,
	const struct rest_path *path, struct api_parameters *p,
	struct httpd_request *request)
{
	switch (path->kind) {
	case API_NODE_LOADS:
	case API_VM_LOADS:
		serve_loads(sources, path, p, request);
		return;
	case API_STATUS:
		serve_status(sources, path, p, request);
		return;
	default:
		serve_records(sources, path, p, request);
		return;
	}
}

static void answer(const struct api_sources *sources,
	const struct rest_path *path, struct httpd_request *request,
	bool may_wait)
{
	struct api_parameters parameters = { .limit = 0 };
	struct error error = { 0 };
	int r;

	if (path->is_outlook && is_no_vm(sources, path)) {
		reply_not_found(request, path);
		return;
	}
	if (path->is_outlook) {
		api_outlook_serve(sources->api->outlook, path, request);
		return;
	}
	if (!sources->is_open && path->kind != API_STATUS) {
		httpd_reply_error(request, 503,
			"the aggregator's database is not open yet");
		return;
	}
	if (path->is_history) {
		serve_history(sources, path, request);
		return;
	}
	r = api_parameters_parse(&parameters, live_epoch(sources->api->live),
		path, request, &error);
	if (r < 0) {
		httpd_reply_error(request, status_of(r), "%s", error.text);
	} else if (may_wait && parameters.poll.is_wanted) {
		wait(sources, path, &parameters.poll, request);
	} else {
		serve_kind(sources, path, &parameters, request);
	}
	api_parameters_fini(&parameters);
}

void api_objects_serve(const struct api_sources *sources,
	const struct rest_path *path, struct httpd_request *request)
{
	answer(sources, path, request, true);
}

/* ---- on another listener ---- */

static void serve_mounted(void *owner, struct httpd_request *request)
{
	const struct api_sources *sources = owner;
	struct rest_path path;
	struct error error = { 0 };
	int status;

	if (rest_path_parse(&path, httpd_path(request), &error) < 0) {
		status = 404;
	} else if (api_is_question(path.kind)) {
		status = 404;
		(void)error_set(&error, -ENOENT,
			"%s are created through kube-apiserver alone",
			api_plural(path.kind));
	} else {
		status = api_objects_check(request, &error);
	}
	if (status != 0) {
		httpd_reply_error(request, status, "%s", error.text);
	} else if (api_objects_take_place(&path, request)) {
		api_objects_serve(sources, &path, request);
	}
}

static const struct httpd_route routes[] = {
	{ API_ROOT, .get = serve_mounted, .shown = { API_ROOT "RESOURCE" } },
};

struct httpd_routes api_objects_routes(struct api_sources *sources)
{
	return (struct httpd_routes){ .routes = routes,
		.count = count_of(routes),
		.owner = sources };
}
