#include "aggregator/http/health.h"

#include "aggregator/store/stats.h"
#include "lib/buffer.h"
#include "lib/memory.h"

static void serve_live(void *owner, struct httpd_request *request)
{
	(void)owner;
	httpd_reply(request, 200, "text/plain", "ok\n", 3);
}

static void serve_ready(void *owner, struct httpd_request *request)
{
	scoped_buffer struct buffer body = BUFFER_MAX(2048);
	const struct health *health = owner;
	const char *store, *remote;

	if (!health->is_open) {
		httpd_reply_error(request, 503, "the store is not open");
		return;
	}
	store = store_complaint(health->store);
	remote = health->remote == NULL
		? ""
		: remote_write_last_error(health->remote);
	if (store[0] == '\0' && remote[0] == '\0') {
		buffer_text(&body, "ok\n");
	} else {
		buffer_printf(&body, "degraded: %s%s%s\n", store,
			store[0] != '\0' && remote[0] != '\0' ? "; " : "",
			remote);
	}
	httpd_reply(request, 200, "text/plain", body.data, body.len);
}

static const struct httpd_route routes[] = {
	{ "/healthz", .get = serve_live, .is_open = true },
	{ "/livez", .get = serve_live, .is_open = true },
	{ "/readyz", .get = serve_ready, .is_open = true },
};

struct httpd_routes health_routes(struct health *health)
{
	return (struct httpd_routes){ .routes = routes,
		.count = count_of(routes),
		.owner = health };
}
