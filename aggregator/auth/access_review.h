/* Who may do what: asks the API server whose a token is, what that account may
 * do, and for an agent whether it belongs to its node.
 *
 * Answers are used again for a minute, refusals for 5 s. When the API server
 * cannot be asked nobody is let in and nobody is refused: the outcome says so
 * and the peer comes again. What is no yes is logged here, now and then per
 * kind. Tokens go into no sentence and no log. */
#pragma once

#include "lib/error.h"

#include <uv.h>

struct kube_config;

/* What tokens for agents and schedulers must be meant for. */
#define REVIEW_AUDIENCE "plimsoll-aggregator"

struct review;

enum review_right {
	REVIEW_REPORT,	 /* create /plimsoll/reports, for one node */
	REVIEW_SNAPSHOT, /* get /plimsoll/snapshots */
	REVIEW_HTTP,	 /* get the path; by a token for the API server */
};

enum review_outcome {
	REVIEW_ALLOWED,
	REVIEW_NO_TOKEN,
	REVIEW_BAD_TOKEN, /* expired, of another cluster, for others, garbage */
	REVIEW_FORBIDDEN,
	REVIEW_WRONG_NODE,
	REVIEW_UNREACHABLE, /* the API server cannot be asked now */
	REVIEW_OUTCOMES,    /* how many there are */
};

/* why is one sentence that may be shown to the peer; empty with
 * REVIEW_ALLOWED. */
typedef void (*review_done)(void *owner, enum review_outcome outcome,
	const struct error *why);

struct review_question {
	enum review_right right;
	const char *token;   /* borrowed for the call; NULL: none */
	const char *subject; /* copied: the node, the path, or for logs */
	review_done done; /* exactly once, maybe before review_ask() returns */
	void *owner;
};

/* Takes what config holds and leaves it empty. Never NULL. */
struct review *review_new(uv_loop_t *loop, struct kube_config *config);

void review_ask(struct review *review, const struct review_question *question);

/* Open questions are answered now, as all further ones: REVIEW_UNREACHABLE.
 * NULL is fine. */
void review_stop(struct review *review);

void review_free(struct review *review); /* after review_stop(); NULL is fine */
