/* Asks the API server which account a token belongs to, what an account may do,
 * and whether an agent runs on the node that it reports for.
 *
 * Positive answers are cached for a minute, refusals for 5 s. While the API
 * server cannot be asked, nobody is allowed and nobody is refused: the outcome
 * is ACCESS_REVIEW_UNREACHABLE and the peer tries again. Every other outcome
 * than ACCESS_REVIEW_ALLOWED is logged here, rate limited. Tokens are part of
 * no error sentence and no log line. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <uv.h>

struct account;
struct kube_config;
struct subject_access;

/* The audience of the tokens of agents and schedulers. */
#define ACCESS_REVIEW_AUDIENCE "plimsoll-aggregator"

struct access_review;

enum access_review_right {
	ACCESS_REVIEW_REPORT,	/* create /plimsoll/reports, for one node */
	ACCESS_REVIEW_SNAPSHOT, /* get /plimsoll/snapshots */
	ACCESS_REVIEW_HTTP, /* get the path; by a token for the API server */
	ACCESS_REVIEW_HTTP_POST,   /* post to it; the same token */
	ACCESS_REVIEW_HTTP_DELETE, /* delete it; the same token */
};

enum access_review_outcome {
	ACCESS_REVIEW_ALLOWED,
	ACCESS_REVIEW_NO_TOKEN,
	/* Expired, malformed, or for another cluster or audience. */
	ACCESS_REVIEW_BAD_TOKEN,
	ACCESS_REVIEW_FORBIDDEN,
	ACCESS_REVIEW_WRONG_NODE,
	ACCESS_REVIEW_UNREACHABLE, /* the API server cannot be asked now */
	ACCESS_REVIEW_OUTCOMES,	   /* the number of outcomes */
};

/* why is a sentence for the peer; empty with ACCESS_REVIEW_ALLOWED. */
typedef void (*access_review_done)(void *owner,
	enum access_review_outcome outcome, const struct error *why);

/* The pod that a token is bound to; "": not known. */
struct access_review_pod {
	char path[600]; /* at the API server */
	char uid[64];
};

struct access_review_request {
	enum access_review_right right;
	const char *token;   /* borrowed for the call; NULL: none */
	const char *subject; /* copied: the node, the path, or for logs */
	/* NULL, or becomes the account's name before done() is called with
	 * ACCESS_REVIEW_ALLOWED; the caller frees it. */
	char **user;
	/* Called exactly once, maybe before access_review_start() returns. */
	access_review_done done;
	void *owner;
	struct access_review_pod *pod; /* NULL, or filled before done */
};

/* Takes what config holds and leaves it empty. Never NULL. */
struct access_review *access_review_new(uv_loop_t *loop,
	struct kube_config *config);

void access_review_start(struct access_review *review,
	const struct access_review_request *request);

/* May an account act on a resource? Somebody else has authenticated it, as a
 * front proxy does. The outcome is one of ACCESS_REVIEW_ALLOWED, _FORBIDDEN and
 * _UNREACHABLE; why is worded as kube-apiserver words it. */
struct access_review_resource_request {
	const struct account *account; /* borrowed for the call, as access */
	const struct subject_access *access; /* its path is NULL */
	/* Called exactly once, maybe before the function returns. */
	access_review_done done;
	void *owner;
};

void access_review_resource(struct access_review *review,
	const struct access_review_resource_request *request);

/* Asks whether a pod has ended or is being deleted. done is called exactly
 * once, maybe before this returns; false: it runs on, or that is not known.
 * This needs the right to list pods. */
void access_review_pod_leaves(struct access_review *review,
	const struct access_review_pod *pod,
	void (*done)(void *owner, bool leaves), void *owner);

/* Open requests end now with ACCESS_REVIEW_UNREACHABLE, and so does every later
 * one. NULL is fine. */
void access_review_stop(struct access_review *review);

/* After access_review_stop(). NULL is fine. */
void access_review_free(struct access_review *review);
