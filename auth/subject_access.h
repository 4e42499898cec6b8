/* The JSON of a SubjectAccessReview (authorization.k8s.io/v1): may an account
 * act on a path, or on a resource? Pure. */
#pragma once

#include "auth/account.h"
#include "lib/buffer.h"

#include <stdbool.h>

/* An action. Texts are borrowed; NULL and "" are not given. A list has no
 * name, and what is asked of all namespaces, or outside them, no namespace. */
struct subject_access {
	const char *verb; /* as in RBAC: get, list, create, delete */
	const char *path; /* NULL: the resource below */
	const char *group, *version, *resource, *subresource;
	const char *namespace, *name;
};

/* Appends the body of the request. */
void subject_access_write(struct buffer *out, const struct account *account,
	const struct subject_access *access);

/* -EBADMSG: body is not the response to such a request. */
must_check int subject_access_read(bool *is_allowed, const char *body,
	size_t len, struct error *err);

/* The sentence for an account that is not allowed, with -EACCES: for a resource
 * in the words of kube-apiserver. */
void subject_access_refuse(struct error *out, const struct account *account,
	const struct subject_access *access);
