#include "aggregator/http/api_node.h"

#include "lib/clock.h"
#include "lib/log.h"

#include <string.h>

static bool is_fresh(const struct live_node *node)
{
	return live_node_state(node, clock_monotonic_us()) == LOAD_FRESH;
}

void api_node_delete(void *owner, struct httpd_request *request)
{
	struct api *api = owner;
	const char *name = httpd_path(request) + sizeof("/v1/nodes/") - 1;
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
