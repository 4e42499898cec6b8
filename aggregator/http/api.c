#include "aggregator/http/api.h"

#include "aggregator/http/body.h"
#include "aggregator/http/api_decisions.h"
#include "aggregator/http/api_history.h"
#include "aggregator/http/api_list.h"
#include "aggregator/http/api_vm.h"
#include "aggregator/live/identity.h"
#include "aggregator/http/vm_pods.h"
#include "aggregator/http/load_watcher.h"
#include "lib/clock.h"
#include "lib/exposition.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

const char api_json[] = "application/json";

/* Each holds the names of all nodes or VMs. */
enum { STREAMS_MAX = 16 };

void api_reply_body(struct http_request *request, const char *type,
	const struct buffer *body)
{
	if (body->overflowed) {
		http_reply_error(request, 500,
			"the answer is larger than %d MiB: ask for one node",
			API_BODY_MAX >> 20);
		return;
	}
	http_reply(request, 200, type, body->data, body->len);
}

/* ---- nodes ---- */

static struct list_options list_options(struct api *api)
{
	return (struct list_options){
		.live = api->live,
		.identities = api->identities,
		.now_us = clock_monotonic_us(),
		.wall_us = clock_wall_us(),
		.running = &api->streams,
	};
}

bool api_has_stream(const struct api *api, struct http_request *request)
{
	if (api->streams >= STREAMS_MAX) {
		http_reply_error(request, 503,
			"%d long answers are being read already: try later",
			STREAMS_MAX);
	}
	return api->streams < STREAMS_MAX;
}

static void serve_nodes(struct api *api, struct http_request *request,
	const char *rest)
{
	struct list_options options = list_options(api);
	struct http_stream stream;

	(void)rest;
	if (api_has_stream(api, request)) {
		stream = list_nodes(&options);
		http_reply_stream(request, 200, api_json, &stream);
	}
}

static void serve_one_node(const struct live_node *node,
	struct http_request *request)
{
	scoped_buffer struct buffer body = BUFFER_MAX(API_BODY_MAX);
	struct json j = json_into(&body);

	body_write_node(&j, node, clock_monotonic_us());
	buffer_char(&body, '\n');
	api_reply_body(request, api_json, &body);
}

/* "NAME" or "NAME/history". */
static void serve_node(struct api *api, struct http_request *request,
	const char *rest)
{
	const char *slash = strchrnul(rest, '/');
	scoped_free char *name = xstrndup(rest, (size_t)(slash - rest));
	const struct live_node *node = live_find(api->live, name);

	if (*slash != '\0' && strcmp(slash, "/history") != 0) {
		http_reply_error(request, 404, "no such path");
	} else if (node == NULL) {
		http_reply_error(request, 404, "no node '%.253s' is known",
			name);
	} else if (*slash == '\0') {
		serve_one_node(node, request);
	} else {
		api_serve_node_history(api, node, request);
	}
}

/* ---- decisions ---- */

static void serve_decisions(struct api *api, struct http_request *request,
	const char *rest)
{
	(void)rest;
	api_serve_decisions(api->store, request);
}

/* ---- VMs ---- */

static void serve_vms(struct api *api, struct http_request *request,
	const char *rest)
{
	struct list_options options = list_options(api);
	struct http_stream stream;

	(void)rest;
	if (api_has_stream(api, request)) {
		stream = list_vms(&options);
		http_reply_stream(request, 200, api_json, &stream);
	}
}

void api_refuse_vm(const struct api *api, struct http_request *request,
	const struct api_vm *vm)
{
	if (api->identities == NULL) {
		http_reply_error(request, 404,
			"VMs are not known by name here: there is no API "
			"server to ask (--kubeconfig)");
	} else {
		http_reply_error(request, 404,
			"no VM '%.63s/%.253s' runs on a node that reports, "
			"and nothing is stored of one",
			vm->namespace, vm->name);
	}
}

/* "NAMESPACE/NAME" or "NAMESPACE/NAME/history". */
static void serve_vm(struct api *api, struct http_request *request,
	const char *rest)
{
	const char *slash = strchrnul(rest, '/');
	const char *name = *slash == '\0' ? slash : slash + 1;
	const char *end = strchrnul(name, '/');
	scoped_free char *namespace = xstrndup(rest, (size_t)(slash - rest));
	scoped_free char *vm_name = xstrndup(name, (size_t)(end - name));
	struct api_vm vm = { namespace, vm_name, false };

	if (*name == '\0' || (*end != '\0' && strcmp(end, "/history") != 0)) {
		http_reply_error(request, 404,
			"no such path: a VM is /v1/vms/NAMESPACE/NAME");
		return;
	}
	if (strlen(namespace) >= STORE_NAME_MAX ||
		strlen(vm_name) >= STORE_NAME_MAX) {
		api_refuse_vm(api, request, &vm);
		return;
	}
	vm.is_running = vms_is_running(
		&(struct vms_view){ api->live, api->identities, 0 }, namespace,
		vm_name);
	if (*end == '\0') {
		api_serve_vm(api, &vm, request);
	} else {
		api_serve_vm_history(api, &vm, request);
	}
}

/* ---- for other systems ---- */

static void serve_metrics(struct api *api, struct http_request *request,
	const char *rest)
{
	struct metrics_options options = {
		.live = api->live,
		.identities = api->identities,
		.vms_max = api->metrics_vms,
		.running = &api->streams,
		.own = { .is_storing = store_trouble(api->store)[0] == '\0' },
	};
	struct http_stream stream;

	(void)rest;
	if (!api_has_stream(api, request)) {
		return;
	}
	if (api->intake != NULL) {
		options.own.counts = intake_counts(api->intake);
	}
	if (api->identities != NULL) {
		options.own.identities = identities_count(api->identities);
	}
	if (api->remote != NULL) {
		options.own.is_remote = true;
		options.own.remote = remote_health(api->remote);
	}
	stream = metrics_stream(&options);
	http_reply_stream(request, 200, exposition_type, &stream);
}

/* A client that adds the path to an address that ends in a slash asks for
 * //watcher. */
static void serve_watcher(struct api *api, struct http_request *request,
	const char *rest)
{
	scoped_buffer struct buffer body = BUFFER_MAX(API_BODY_MAX);
	const char *host = http_query(request, "host");

	(void)rest;
	if (!watcher_write(&body, api->live, host, clock_monotonic_us(),
		    clock_wall_us())) {
		http_reply_error(request, 404,
			"no metrics found for host '%.253s'", host);
		return;
	}
	api_reply_body(request, api_json, &body);
}

/* load-watcher's: whether there is anything to give. */
static void serve_watcher_health(struct api *api, struct http_request *request,
	const char *rest)
{
	(void)rest;
	if (live_count(api->live) == 0) {
		http_reply_error(request, 503, "no node has reported yet");
		return;
	}
	http_reply(request, 200, "text/plain", "ok\n", 3);
}

/* ---- routes ---- */

struct route {
	const char *path; /* with a slash at its end: and all below it */
	void (*serve)(struct api *api, struct http_request *request,
		const char *rest); /* rest: what follows the path */
};

static const struct route routes[] = {
	{ "/v1/nodes", serve_nodes },
	{ "/v1/nodes/", serve_node },
	{ "/v1/decisions", serve_decisions },
	{ "/v1/vms", serve_vms },
	{ "/v1/vms/", serve_vm },
	{ "/metrics", serve_metrics },
	{ "/watcher", serve_watcher },
	{ "//watcher", serve_watcher },
	{ "/watcher/health", serve_watcher_health },
};

static bool is_route(const struct route *route, const char *path)
{
	size_t len = strlen(route->path);

	return strncmp(path, route->path, len) == 0 &&
		(route->path[len - 1] == '/' || path[len] == '\0');
}

void api_serve(void *owner, struct http_request *request)
{
	struct api *api = owner;
	const char *method = http_method(request);
	const char *path = http_path(request);
	const struct route *route = NULL;

	for (size_t i = 0; i < count_of(routes) && route == NULL; i++) {
		route = is_route(&routes[i], path) ? &routes[i] : NULL;
	}
	if (route == NULL) {
		http_reply_error(request, 404, "no such path");
	} else if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
		http_reply_error(request, 405, "only GET is possible here");
	} else {
		route->serve(api, request, path + strlen(route->path));
	}
}
