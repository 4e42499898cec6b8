/* The JSON of TokenReviews (authentication.k8s.io/v1), which name the account
 * of a token, and of the token's pod. Pure.
 *
 * A token that is bound to a pod names the pod and, since Kubernetes 1.30, its
 * node; before that, the pod itself has to be read for its node. */
#pragma once

#include "auth/account.h"
#include "lib/error.h"

#include <stdbool.h>

/* True: all characters are allowed in a token (RFC 6750, b64token). */
bool access_review_is_token(const char *token);

/* The body of a TokenReview; audience NULL: the API server's own. The caller
 * frees it with secret_free(). access_review_is_token() is true. */
char *access_review_token_body(const char *token, const char *audience);

/* -EACCES: the API server rejects the token, in its own words; -EBADMSG: body
 * is not a TokenReview. audience as in the request. */
must_check int access_review_read_account(struct account *out, const char *body,
	size_t len, const char *audience, struct error *err);

/* The path of the token's pod at the API server; the caller frees it. -EPERM:
 * the token is not bound to a pod. */
must_check int access_review_pod_path(char **out, const struct account *account,
	struct error *err);

/* For an account whose node is known. -EPERM: it is not `node`. */
must_check int access_review_check_node(const struct account *account,
	const char *node, struct error *err);

/* From a list of pods: *leaves is true if the pod of that uid is not in it, or
 * is being deleted. -EBADMSG: body is not a list. */
must_check int access_review_read_pods(bool *leaves, const char *uid,
	const char *body, size_t len, struct error *err);

/* The same as access_review_check_node() by the pod, as the API server returned
 * it. -EPERM: the pod runs on another node, or is another pod of that name;
 * -EBADMSG: body is not a pod. */
must_check int access_review_check_pod(const struct account *account,
	const char *node, const char *body, size_t len, struct error *err);
