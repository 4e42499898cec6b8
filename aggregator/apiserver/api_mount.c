#include "aggregator/apiserver/api_mount.h"

#include "lib/memory.h"

#include <errno.h>

static void serve(void *owner, struct httpd_request *request)
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
	} else {
		api_objects_serve(sources, &path, request);
	}
}

static const struct httpd_route routes[] = {
	{ API_ROOT, .get = serve, .shown = { API_ROOT "RESOURCE" } },
};

struct httpd_routes api_mount_routes(struct api_sources *sources)
{
	return (struct httpd_routes){ .routes = routes,
		.count = count_of(routes),
		.owner = sources };
}
