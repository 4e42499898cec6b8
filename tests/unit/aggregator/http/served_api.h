/* The interface on a real socket, with a store in a temporary directory. A test
 * opens it, fills the store and `api`, serves it, and asks. */
#pragma once

#include "aggregator/http/api.h"
#include "tests/support/blocking_client.h"
#include "tests/support/idle_clients.h"
#include "tests/unit/aggregator/scratch.h"

#define SERVED_API_KEPT_US UINT64_C(86400000000)
#define SERVED_API_WALL_US UINT64_C(1800000000678901)

struct served_api {
	struct scratch *s;
	struct api api; /* with the store alone */
	struct httpd_routes routes;
	struct httpd *httpd;
	struct blocking_client client;
};

static inline void served_api_open(struct served_api *served)
{
	void *scratch = NULL;

	fake_clock_set(UINT64_C(864000000000), SERVED_API_WALL_US);
	assert_int_equal(scratch_setup(&scratch), 0);
	served->s = scratch;
	scratch_open(served->s, SERVED_API_KEPT_US);
	served->api = (struct api){ .store = served->s->store };
}

static inline void served_api_serve(struct served_api *served)
{
	served->routes = api_routes(&served->api);
	assert_int_equal(
		httpd_new(&served->httpd, &served->s->loop,
			&(struct httpd_options){ .address = "127.0.0.1:0",
				.serve = httpd_routes_serve,
				.owner = &served->routes },
			NULL),
		0);
	served->client.port = httpd_port(served->httpd);
}

static inline void served_api_close(struct served_api *served)
{
	void *scratch = served->s;

	scratch_close(served->s);
	httpd_close(served->httpd);
	assert_int_equal(scratch_teardown(&scratch), 0);
}

/* Sends a request and checks the status; returns the body, which the next
 * request replaces. header: see blocking_client_send(). */
static inline const char *served_api_request(struct served_api *served,
	const char *method, const char *path, const char *header, int status)
{
	const char *body;

	blocking_client_send(&served->client, &served->s->loop, method, path,
		header);
	run_until(&served->s->loop, &served->client.is_answered);
	blocking_client_check(&served->client, status);
	body = strstr(served->client.answer, "\r\n\r\n");
	assert_non_null(body);
	return body + 4;
}
