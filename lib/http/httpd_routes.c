#include "lib/http/httpd_routes.h"

#include "lib/buffer.h"
#include "lib/http/accept_header.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <string.h>

enum { LIST_MAX = 4096 };

static bool is_match(const struct httpd_route *route, const char *path)
{
	size_t len = strlen(route->path);

	return strncmp(path, route->path, len) == 0 &&
		(route->path[len - 1] == '/' || path[len] == '\0');
}

static size_t mounted_count(const struct httpd_routes *routes)
{
	return routes->mounted == NULL ? 0 : routes->mounted->count;
}

/* NULL: there are no more. */
static const struct httpd_route *route_at(const struct httpd_routes *routes,
	size_t i)
{
	size_t mounted = mounted_count(routes);

	if (i < mounted) {
		return &routes->mounted->routes[i];
	}
	return i - mounted < routes->count ? &routes->routes[i - mounted]
					   : NULL;
}

struct found {
	const struct httpd_route *route; /* NULL: none */
	void *owner;
};

static struct found find(const struct httpd_routes *routes, const char *path)
{
	const struct httpd_route *route;
	size_t i = 0;

	while ((route = route_at(routes, i)) != NULL &&
		!is_match(route, path)) {
		i++;
	}
	return (struct found){ route,
		i < mounted_count(routes) ? routes->mounted->owner
					  : routes->owner };
}

static bool is_root(const char *path)
{
	return strcmp(path, "/") == 0;
}

static bool is_read(const struct httpd_request *request)
{
	const char *method = httpd_method(request);

	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

static bool is_for_page(const struct httpd_routes *routes,
	const struct httpd_request *request)
{
	return routes->page != NULL && is_root(httpd_path(request)) &&
		is_read(request) &&
		accept_header_prefers_html(httpd_header(request, "Accept"));
}

bool httpd_routes_is_open(const struct httpd_routes *routes,
	const struct httpd_request *request)
{
	const struct httpd_route *route =
		find(routes, httpd_path(request)).route;

	return is_for_page(routes, request) ||
		(route != NULL && route->is_open);
}

/* The names that lists have for a route; returns how many. */
static size_t names_of(const struct httpd_route *route,
	const char *names[count_of(route->shown)])
{
	size_t count = 0;

	if (route->is_hidden) {
		return 0;
	}
	for (size_t i = 0; i < count_of(route->shown); i++) {
		if (route->shown[i] != NULL) {
			names[count++] = route->shown[i];
		}
	}
	if (count == 0) {
		names[count++] = route->path;
	}
	return count;
}

/* An httpd_serve whose owner is the struct httpd_routes. */
static void serve_index(void *owner, struct httpd_request *request)
{
	const struct httpd_routes *routes = owner;
	scoped_buffer struct buffer body = BUFFER_MAX(LIST_MAX);
	struct json j = json_into(&body);
	const struct httpd_route *route;

	json_object(&j, NULL);
	json_array(&j, "paths");
	for (size_t i = 0; (route = route_at(routes, i)) != NULL; i++) {
		const char *names[2];
		size_t count = names_of(route, names);

		for (size_t n = 0; n < count; n++) {
			json_string(&j, NULL, names[n]);
		}
	}
	json_array_end(&j);
	json_object_end(&j);
	buffer_char(&body, '\n');
	httpd_reply(request, 200, "application/json", body.data, body.len);
}

static void refuse_path(const struct httpd_routes *routes,
	struct httpd_request *request)
{
	scoped_buffer struct buffer list = BUFFER_MAX(LIST_MAX);
	const struct httpd_route *route;

	for (size_t i = 0; (route = route_at(routes, i)) != NULL; i++) {
		const char *names[2];
		size_t count = names_of(route, names);

		for (size_t n = 0; n < count; n++) {
			buffer_text(&list, list.len == 0 ? "" : ", ");
			buffer_text(&list, names[n]);
		}
	}
	httpd_reply_error(request, 404, "no such path: %.253s; known paths: %s",
		httpd_path(request), list.len == 0 ? "none" : list.data);
}

static void refuse_method(const struct httpd_route *route,
	struct httpd_request *request)
{
	const struct {
		httpd_serve serve;
		const char *name;
	} methods[] = { { route->get, "GET" }, { route->post, "POST" },
		{ route->remove, "DELETE" } };
	scoped_buffer struct buffer list = BUFFER_MAX(LIST_MAX);

	for (size_t i = 0; i < count_of(methods); i++) {
		if (methods[i].serve != NULL) {
			buffer_text(&list, list.len == 0 ? "" : " or ");
			buffer_text(&list, methods[i].name);
		}
	}
	httpd_reply_error(request, 405, "method not allowed, use %s",
		list.data);
}

static httpd_serve serve_of(const struct httpd_route *route,
	const struct httpd_request *request)
{
	const char *method = httpd_method(request);

	if (is_read(request)) {
		return route->get;
	}
	if (strcmp(method, "POST") == 0) {
		return route->post;
	}
	return strcmp(method, "DELETE") == 0 ? route->remove : NULL;
}

void httpd_routes_serve(void *owner, struct httpd_request *request)
{
	static const struct httpd_route index = { .path = "/",
		.get = serve_index };
	struct httpd_routes *routes = owner;
	struct found found = is_root(httpd_path(request))
		? (struct found){ &index, routes }
		: find(routes, httpd_path(request));
	httpd_serve serve =
		found.route == NULL ? NULL : serve_of(found.route, request);

	if (is_for_page(routes, request)) {
		routes->page(routes->owner, request);
	} else if (found.route == NULL) {
		refuse_path(routes, request);
	} else if (serve == NULL) {
		refuse_method(found.route, request);
	} else {
		serve(found.owner, request);
	}
}
