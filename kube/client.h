/* Requests to the Kubernetes API server.
 *
 * Adds to kube/http.h: the server's address, who we are, and its way of saying
 * no. Tokens and certificates that come from files are read again every
 * minute; a 401 or an unknown certificate reads them at once and, if they
 * changed, tries the request a second time.
 * Callbacks never run inside kube_request_send(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct kube_client;
struct kube_config;
struct kube_request; /* one request under way */

enum {
	KUBE_TIMEOUT_MS = 30000,
	KUBE_ANSWER_MAX = 4 << 20, /* an object; etcd's own limit is 1.5 MiB */
};

struct kube_answer {
	int status; /* HTTP; 0: no answer was had. It may have been done */
	const char *body; /* NUL-terminated */
	size_t len;
	uint64_t
		retry_after_ms; /* with 429 and 503: what was asked for, or 0 */
	bool is_too_large;	/* more than the call's max; status is 0 */
	/* "" where status is 2xx; else why not, in the server's words where it
	 * gave some ("pods \"a\" not found") */
	const char *error;
};

/* Ends the request; everything in answer is borrowed for the call. */
typedef void (*kube_done)(void *owner, const struct kube_answer *answer);

/* Bytes of a 2xx answer, as they come. The first call has len 0: the answer
 * has begun. */
typedef void (*kube_chunk)(void *owner, const char *bytes, size_t len);

struct kube_call {
	const char *method; /* a literal: "GET" */
	const char *path;   /* below the server, with the query; copied */
	const char *type;   /* of the body, a literal; NULL: application/json */
	const char *body;   /* copied; NULL: none */
	size_t len;
	uint64_t timeout_ms; /* for the whole of it; 0: KUBE_TIMEOUT_MS */
	size_t max;	     /* of the answer; 0: KUBE_ANSWER_MAX */
	kube_chunk on_chunk; /* NULL: the body is collected */
	kube_done on_done;
	void *owner; /* outlives the request */
};

/* Takes what config holds and leaves it empty. Never NULL. Wrong keys and
 * certificates show in the answer to the first request. */
struct kube_client *kube_client_new(uv_loop_t *loop,
	struct kube_config *config);

uv_loop_t *kube_client_loop(const struct kube_client *client);

/* Where requests go, and the namespace of the configuration. Borrowed. */
const char *kube_client_server(const struct kube_client *client);
const char *kube_client_namespace(const struct kube_client *client);

/* Cancels what is under way and frees itself. NULL is fine. */
void kube_client_close(struct kube_client *client);

/* on_done follows exactly once unless it is cancelled. Never NULL. */
struct kube_request *kube_request_send(struct kube_client *client,
	const struct kube_call *call);

/* No callback of it is called any more; not after its on_done. The server may
 * or may not have done what was asked. NULL is fine. */
void kube_request_cancel(struct kube_request *request);
