/* What is said to the API server about a token, and what it answers: JSON to
 * and from values. Pure.
 *
 * TokenReview (authentication.k8s.io/v1) says whose a token is,
 * SubjectAccessReview (authorization.k8s.io/v1) what that account may do. A
 * token that is bound to a pod names the pod and, since Kubernetes 1.30, its
 * node; for older ones the pod itself says where it runs. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Whose a token is, as TokenReview gave it. All owned; NULL: not given. */
struct account {
	char *user;
	char *uid;
	char *groups; /* a JSON array */
	char *extra;  /* a JSON object */
	char *node;   /* the node that the token's pod is bound to */
	char *pod, *pod_uid;
};

void account_fini(struct account *account); /* NULL, zeroed are fine */

/* Whether it consists of what tokens consist of (RFC 6750, b64token). */
bool review_is_token(const char *token);

/* The body of a TokenReview; audience NULL: the API server's own. The caller
 * gives it to review_wipe(). token satisfies review_is_token(). */
char *review_token_body(const char *token, const char *audience);

/* Overwrites a text and frees it. NULL is fine. */
void review_wipe(char *text);

/* -EACCES: the token is not accepted, in the API server's words; -EBADMSG: not
 * an answer to such a question. audience as it was asked for. */
must_check int review_read_account(struct account *out, const char *body,
	size_t len, const char *audience, struct error *err);

/* Appends the body of a SubjectAccessReview for a path of ours. */
void review_write_access(struct buffer *out, const struct account *account,
	const char *path, const char *verb);

/* -EACCES: it may not; -EBADMSG: not an answer to such a question. */
must_check int review_read_access(const struct account *account,
	const char *path, const char *verb, const char *body, size_t len,
	struct error *err);

/* Where the API server has the pod that a token is bound to; the caller frees
 * it. -EPERM: the token is bound to no pod. */
must_check int review_pod_path(char **out, const struct account *account,
	struct error *err);

/* Whether an account whose node is known speaks for `node`. -EPERM: for
 * another one. */
must_check int review_check_node(const struct account *account,
	const char *node, struct error *err);

/* The same by the pod, as the API server gave it. -EPERM: it runs elsewhere,
 * or is another pod of that name; -EBADMSG: no pod. */
must_check int review_check_pod(const struct account *account, const char *node,
	const char *body, size_t len, struct error *err);
