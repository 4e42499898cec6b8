#include "aggregator/http/api.h"

#include "aggregator/http/api_decisions.h"
#include "aggregator/http/api_history.h"
#include "aggregator/http/api_list.h"
#include "aggregator/http/api_moves.h"
#include "aggregator/http/api_vm.h"
#include "aggregator/http/body.h"
#include "aggregator/http/load_watcher.h"
#include "aggregator/http/metrics.h"
#include "aggregator/http/reply.h"
#include "aggregator/http/vm_pods.h"
#include "aggregator/live/identity.h"
#include "lib/clock.h"
#include "lib/exposition.h"
#include "lib/http/httpd_listener.h"
#include "lib/log.h"
#include "lib/memory.h"
#include "lib/tls/tls_watch.h"

#include <string.h>

static const char node_path[] = "/v1/nodes/";
static const char vm_path[] = "/v1/vms/";
static const char page_path[] = "/ui/";

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

static void serve_nodes(void *owner, struct httpd_request *request)
{
	serve_list(owner, request, api_list_nodes);
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
static void serve_node(void *owner, struct httpd_request *request)
{
	struct api *api = owner;
	const char *rest = httpd_path(request) + sizeof(node_path) - 1;
	const char *slash = strchrnul(rest, '/');
	scoped_free char *name = xstrndup(rest, (size_t)(slash - rest));
	const struct live_node *node = live_find(api->live, name);

	if (*slash != '\0' && strcmp(slash, "/history") != 0) {
		httpd_reply_error(request, 404, "no such path");
	} else if (*slash != '\0') {
		api_history_serve(api, &(struct api_history){ .node = name },
			request);
	} else if (node == NULL) {
		httpd_reply_error(request, 404, "no node '%.253s' is live",
			name);
	} else {
		serve_one_node(node, request);
	}
}

static bool is_fresh(const struct live_node *node)
{
	return live_node_state(node, clock_monotonic_us()) == LOAD_FRESH;
}

/* 405 for what is below a node, 403 without authentication, 409 while the node
 * is fresh, 404 if it is not among the live nodes. */
static void delete_node(void *owner, struct httpd_request *request)
{
	struct api *api = owner;
	const char *name = httpd_path(request) + sizeof(node_path) - 1;
	const struct live_node *node = live_find(api->live, name);

	if (strchr(name, '/') != NULL) {
		httpd_reply_error(request, 405,
			"only GET and HEAD are supported here");
	} else if (!api->may_delete) {
		httpd_reply_error(request, 403,
			"without --http-auth kubernetes anybody could remove "
			"a node: lost nodes are removed after "
			"--forget-lost-after");
	} else if (node == NULL) {
		httpd_reply_error(request, 404, "no node '%.253s' is live",
			name);
	} else if (is_fresh(node)) {
		httpd_reply_error(request, 409,
			"node '%.253s' is fresh: its agent still reports",
			name);
	} else {
		log_info("node removed by request", log_str("node", name),
			LOG_END);
		(void)live_remove(api->live, name);
		httpd_reply(request, 204, "text/plain", "", 0);
	}
}

/* ---- VMs ---- */

static void serve_vms(void *owner, struct httpd_request *request)
{
	serve_list(owner, request, api_list_vms);
}

/* "NAMESPACE/NAME" or "NAMESPACE/NAME/history". */
static void serve_vm(void *owner, struct httpd_request *request)
{
	struct api *api = owner;
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
		api_history_serve(api, &(struct api_history){ .vm = &vm },
			request);
	}
}

/* ---- for other systems ---- */

static void count_responses(const struct api *api,
	struct exposition_responses out[3])
{
	const struct httpd_listener *const listeners[] = { api->http,
		api->health, api->kubernetes };
	static const char *const names[] = { "http", "health", "api" };

	for (size_t i = 0; i < count_of(listeners); i++) {
		out[i].listener = listeners[i] == NULL ? NULL : names[i];
		httpd_listener_responses(listeners[i], out[i].classes);
	}
}

static void serve_metrics(void *owner, struct httpd_request *request)
{
	struct api *api = owner;
	struct metrics_options options = {
		.live = api->live,
		.identities = api->identities,
		.vms_max = api->metrics_vms,
		.self = { .is_storing = store_last_error(api->store)[0] == '\0',
			.started_us = api->started_us,
			.store = store_stats(api->store),
			.certificates = { { "wire",
						  tls_watch_expiry_s(
							  api->wire_tls) },
				{ "https",
					httpd_listener_expiry_s(api->http) } },
			.authority_expiry_s =
				tls_watch_ca_expiry_s(api->wire_tls) },
	};
	struct httpd_stream stream;

	if (!httpd_take_stream(request)) {
		return;
	}
	count_responses(api, options.self.responses);
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
	if (api->remote_read != NULL) {
		options.self.is_remote_read = true;
		options.self.remote_read = remote_read_health(api->remote_read);
	}
	stream = metrics_stream(&options);
	httpd_reply_stream(request, 200, exposition_type, &stream);
}

/* A client that appends the path to an address with a slash at its end requests
 * //watcher. */
static void serve_watcher(void *owner, struct httpd_request *request)
{
	struct api *api = owner;
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
static void serve_watcher_health(void *owner, struct httpd_request *request)
{
	const struct api *api = owner;

	if (live_count(api->live) == 0) {
		httpd_reply_error(request, 503, "no node has reported yet");
		return;
	}
	httpd_reply(request, 200, "text/plain", "ok\n", 3);
}

/* ---- the page ---- */

static void serve_page_file(void *owner, struct httpd_request *request)
{
	(void)owner;
	reply_page_file(request, httpd_path(request) + sizeof(page_path) - 1);
}

/* ---- routes ---- */

static const struct httpd_route routes[] = {
	{ "/metrics", .get = serve_metrics },
	{ page_path, .get = serve_page_file, .shown = { "/ui/FILE" },
		.is_open = true },
	{ "/v1/decisions", .get = api_decisions_serve },
	{ "/v1/moves", .get = api_moves_serve },
	{ "/v1/nodes", .get = serve_nodes },
	{ node_path, .get = serve_node, .remove = delete_node,
		.shown = { "/v1/nodes/NAME", "/v1/nodes/NAME/history" } },
	{ "/v1/vms", .get = serve_vms },
	{ vm_path, .get = serve_vm,
		.shown = { "/v1/vms/NAMESPACE/NAME",
			"/v1/vms/NAMESPACE/NAME/history" } },
	{ "/watcher", .get = serve_watcher },
	{ "//watcher", .get = serve_watcher, .is_hidden = true },
	{ "/watcher/health", .get = serve_watcher_health },
};

struct httpd_routes api_routes(struct api *api)
{
	return (struct httpd_routes){ .routes = routes,
		.count = count_of(routes),
		.owner = api,
		.page = reply_page };
}
