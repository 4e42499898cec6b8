/* Requests to the Kubernetes API server.
 *
 * Adds the server's address, credentials and Status errors to kube/http.h.
 * Tokens and certificates from files are reread every minute. After a 401 or an
 * untrusted certificate they are reread at once, and the request is repeated
 * once if they changed.
 *
 * error also explains a status that is not 2xx, in the server's words if it
 * gave any ("pods \"a\" not found"). No callback runs inside
 * kube_request_send(). */
#pragma once

#include "kube/http.h"

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct kube_client;
struct kube_config;
struct kube_request; /* one pending request */

enum {
	KUBE_TIMEOUT_MS = 30000,
	/* For an object; etcd's own limit is 1.5 MiB. */
	KUBE_RESPONSE_MAX = 4 << 20,
};

struct kube_call {
	const char *method; /* a literal: "GET" */
	const char *path;   /* below the server's URL, with the query; copied */
	const char *type;   /* of the body, a literal; NULL: application/json */
	const char *body;   /* copied; NULL: none */
	size_t len;
	enum http_priority priority;
	uint64_t timeout_ms; /* of the whole request; 0: KUBE_TIMEOUT_MS */
	size_t max;	     /* of the response; 0: KUBE_RESPONSE_MAX */
	bool needs_new_connection; /* see struct http_call */
	http_chunk on_chunk;	   /* NULL: the body is collected */
	http_done on_done;
	void *owner; /* outlives the request */
};

/* Moves everything out of config. Never NULL. The response to the first request
 * reports unusable keys and certificates. */
struct kube_client *kube_client_new(uv_loop_t *loop,
	struct kube_config *config);

uv_loop_t *kube_client_loop(const struct kube_client *client);

/* The server's URL, and the namespace of the configuration. Borrowed. */
const char *kube_client_server(const struct kube_client *client);
const char *kube_client_namespace(const struct kube_client *client);

/* Cancels pending requests and frees itself. NULL is fine. */
void kube_client_close(struct kube_client *client);

/* Calls on_done exactly once unless the request is cancelled. Never NULL. */
struct kube_request *kube_request_send(struct kube_client *client,
	const struct kube_call *call);

/* Cancels a request before its on_done: none of its callbacks runs any more.
 * The server may have processed the request. NULL is fine. */
void kube_request_cancel(struct kube_request *request);
