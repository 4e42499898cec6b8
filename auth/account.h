/* An account of the cluster, as access reviews name it. */
#pragma once

#include "lib/error.h"

#include <stddef.h>

/* All owned; NULL: not given. */
struct account {
	char *user;
	char *uid;
	char *groups; /* a JSON array; never NULL in an account that is made */
	char *extra;  /* a JSON object of arrays; likewise */
	char *node;   /* the node that the token's pod is bound to */
	char *pod, *pod_uid;
};

enum {
	/* Each SubjectAccessReview repeats the account's groups and extra. */
	ACCOUNT_GROUPS_MAX = 256,
	ACCOUNT_EXTRA_MAX = 64,
	ACCOUNT_BYTES_MAX = 64 << 10, /* of the groups, and of extra */
};

/* One value of an attribute. A key may have several, in any order. */
struct account_extra {
	const char *key, *value;
};

/* An account in the words of somebody who is trusted to name it, as a front
 * proxy is. All borrowed. */
struct account_names {
	const char *user; /* not empty */
	const char *uid;  /* NULL: none */
	const char *const *groups;
	size_t group_count;
	const struct account_extra *extra;
	size_t extra_count;
};

/* Makes the account; the caller calls account_fini(). -E2BIG: it exceeds one of
 * the limits above. */
must_check int account_make(struct account *out,
	const struct account_names *names, struct error *err);

/* Where the namespace of a service account, system:serviceaccount:NS:NAME, is
 * in the name of its user, and its length; NULL: no service account. */
const char *account_service_namespace(size_t *len, const char *user);

/* The peer whose share of what is limited an account uses: the user, but for a
 * service account the group of all service accounts of its namespace. The
 * caller frees it. */
char *account_peer(const char *user);

void account_fini(struct account *account); /* NULL, zeroed are fine */
