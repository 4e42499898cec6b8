#include "aggregator/http/api.h"

#include "aggregator/http/api_decisions.h"
#include "aggregator/http/api_history.h"
#include "aggregator/http/api_list.h"
#include "aggregator/http/api_moves.h"
#include "aggregator/http/api_node.h"
#include "aggregator/http/api_vm.h"
#include "aggregator/http/body.h"
#include "aggregator/http/load_watcher.h"
#include "aggregator/http/metrics.h"
#include "aggregator/http/reply.h"
#include "aggregator/http/vm_pods.h"
#include "aggregator/live/identity.h"
#include "lib/clock.h"
#include "lib/exposition.h"
#include "lib/memory.h"

#include <string.h>

static const char node_path[] = "/v1/nodes/";
static const char vm_path[] = "/v1/vms/";

/* ---- nodes ---- */

static void serve_list(struct api *api, struct httpd_request *request,
	struct httpd_stream (*list)(const struct api_list_options *options))
{
	struct httpd_stream stream;

	if (httpd_take_stream(request)) {
		stream = list(&(struct api_list_options){
			.live = api->live,
			.identities = api->identities,
			.now_us = clock_monotonic_us(),
			.wall_us = clock_wall_us(),
		});
		httpd_reply_stream(request, 200, reply_json, &stream);
	}
}

static void serve_nodes(struct api *api, struct httpd_request *request)
{
	serve_list(api, request, api_list_nodes);
}

static void serve_one_node(const struct live_node *node,
	struct httpd_request *request)
{
	scoped_buffer struct buffer body = BUFFER_MAX(REPLY_BODY_MAX);
	struct json j = json_into(&body);

	body_write_node(&j, node, clock_monotonic_us());
	buffer_char(&body, '\n');
	reply_body(request, reply_json, &body);
}

/* "NAME" or "NAME/history". */
static void serve_node(struct api *api, struct httpd_request *request)
{
	const char *rest = httpd_path(request) + sizeof(node_path) - 1;
	const char *slash = strchrnul(rest, '/');
	scoped_free char *name = xstrndup(rest, (size_t)(slash - rest));
	const struct live_node *node = live_find(api->live, name);

	if (*slash != '\0' && strcmp(slash, "/history") != 0) {
		httpd_reply_error(request, 404, "no such path");
	} else if (*slash != '\0') {
		api_history_serve(api, name, NULL, request);
	} else if (node == NULL) {
		httpd_reply_error(request, 404, "no node '%.253s' is live",
			name);
	} else {
		serve_one_node(node, request);
	}
}

/* ---- VMs ---- */

static void serve_vms(struct api *api, struct httpd_request *request)
{
	serve_list(api, request, api_list_vms);
}

/* "NAMESPACE/NAME" or "NAMESPACE/NAME/history". */
static void serve_vm(struct api *api, struct httpd_request *request)
{
	const char *rest = httpd_path(request) + sizeof(vm_path) - 1;
	const char *slash = strchrnul(rest, '/');
	const char *name = *slash == '\0' ? slash : slash + 1;
	const char *end = strchrnul(name, '/');
	scoped_free char *namespace = xstrndup(rest, (size_t)(slash - rest));
	scoped_free char *vm_name = xstrndup(name, (size_t)(end - name));
	struct api_vm vm = { namespace, vm_name, false };

	if (*name == '\0' || (*end != '\0' && strcmp(end, "/history") != 0)) {
		httpd_reply_error(request, 404,
			"no such path: use /v1/vms/NAMESPACE/NAME");
		return;
	}
	if (strlen(namespace) >= STORE_NAME_MAX ||
		strlen(vm_name) >= STORE_NAME_MAX) {
		reply_vm_not_found(api, request, &vm);
		return;
	}
	vm.is_running = vm_pods_is_running(
		&(struct vm_pods_view){ api->live, api->identities, 0 },
		namespace, vm_name);
	if (*end == '\0') {
		api_vm_serve(api, &vm, request);
	} else {
		api_history_serve(api, NULL, &vm, request);
	}
}

/* ---- for other systems ---- */

static void serve_metrics(struct api *api, struct httpd_request *request)
{
	struct metrics_options options = {
		.live = api->live,
		.identities = api->identities,
		.vms_max = api->metrics_vms,
		.self = { .is_storing = store_last_error(api->store)[0] == '\0',
			.started_us = api->started_us,
			.left_out = left_out_count(api->store) },
	};
	struct httpd_stream stream;

	if (!httpd_take_stream(request)) {
		return;
	}
	if (api->ingest != NULL) {
		options.self.counts = ingest_counts(api->ingest);
		options.self.owners = ingest_owners(api->ingest);
	}
	if (api->identities != NULL) {
		options.self.identities = identities_count(api->identities);
	}
	if (api->remote != NULL) {
		options.self.is_remote = true;
		options.self.remote = remote_write_health(api->remote);
	}
	stream = metrics_stream(&options);
	httpd_reply_stream(request, 200, exposition_type, &stream);
}

/* A client that appends the path to an address with a slash at its end requests
 * //watcher. */
static void serve_watcher(struct api *api, struct httpd_request *request)
{
	scoped_buffer struct buffer body = BUFFER_MAX(REPLY_BODY_MAX);
	const char *host = httpd_query(request, "host");

	if (!load_watcher_write(&body, api->live, host, clock_monotonic_us(),
		    clock_wall_us())) {
		httpd_reply_error(request, 404,
			"no metrics found for host '%.253s'", host);
		return;
	}
	reply_body(request, reply_json, &body);
}

/* As in load-watcher: 503 without any node. */
static void serve_watcher_health(struct api *api, struct httpd_request *request)
{
	if (live_count(api->live) == 0) {
		httpd_reply_error(request, 503, "no node has reported yet");
		return;
	}
	httpd_reply(request, 200, "text/plain", "ok\n", 3);
}

/* ---- routes ---- */

struct route {
	const char *path; /* with a slash at its end: all paths below */
	void (*serve)(struct api *api, struct httpd_request *request);
	/* DELETE of a path below; or NULL. */
	void (*remove)(struct api *api, struct httpd_request *request);
};

static const struct route routes[] = {
	{ "/v1/nodes", serve_nodes, NULL },
	{ node_path, serve_node, api_node_delete },
	{ "/v1/decisions", api_decisions_serve, NULL },
	{ "/v1/moves", api_moves_serve, NULL },
	{ "/v1/vms", serve_vms, NULL },
	{ vm_path, serve_vm, NULL },
	{ "/metrics", serve_metrics, NULL },
	{ "/watcher", serve_watcher, NULL },
	{ "//watcher", serve_watcher, NULL },
	{ "/watcher/health", serve_watcher_health, NULL },
};

static bool is_route(const struct route *route, const char *path)
{
	size_t len = strlen(route->path);

	return strncmp(path, route->path, len) == 0 &&
		(route->path[len - 1] == '/' || path[len] == '\0');
}

void api_serve(void *owner, struct httpd_request *request)
{
	struct api *api = owner;
	const char *method = httpd_method(request);
	const char *path = httpd_path(request);
	const struct route *route = NULL;

	for (size_t i = 0; i < count_of(routes) && route == NULL; i++) {
		route = is_route(&routes[i], path) ? &routes[i] : NULL;
	}
	if (route == NULL) {
		httpd_reply_error(request, 404, "no such path");
	} else if (strcmp(method, "DELETE") == 0 && route->remove != NULL) {
		route->remove(api, request);
	} else if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
		httpd_reply_error(request, 405,
			"only GET and HEAD are supported, and DELETE of "
			"/v1/nodes/NAME");
	} else {
		route->serve(api, request);
	}
}
