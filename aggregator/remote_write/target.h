/* Where remote write goes and what each request carries: the flags, checked,
 * and the files they name. Secrets are overwritten before they are freed and
 * are part of no sentence. */
#pragma once

#include "aggregator/remote_write/request_body.h"
#include "kube/http.h"
#include "lib/error.h"
#include "lib/options.h"

/* As given on the command line. */
struct remote_config {
	const char *url;		    /* NULL: there is no remote write */
	const char *ca, *user, *token_file; /* NULL: none */
	struct option_list headers, labels;
	uint64_t queue_bytes;
};

/* What the flags alone tell. -EINVAL: one sentence says what is wrong. */
must_check int remote_check(const struct remote_config *config,
	struct error *err);

enum { REMOTE_HEADERS_MAX = OPTION_LIST_MAX + 6 };

struct remote_target {
	const struct remote_config *config;
	char *origin;	     /* of the URL, for sentences */
	char *ca;	     /* PEM, or NULL: whom the system trusts */
	char *authorization; /* a header, or NULL */
	struct remote_extra extra;
	char *label_names[REMOTE_EXTRA_MAX]; /* what extra points at */
};

/* config was checked and outlives it. Fails as reading the files does; then
 * there is nothing to release. */
must_check int remote_target_init(struct remote_target *out,
	const struct remote_config *config, struct error *err);
void remote_target_fini(struct remote_target *target); /* zeroed is fine */

/* Reads the token again. What cannot be read keeps its old text. */
void remote_target_refresh(struct remote_target *target);

/* The headers of a request, NULL at the end; borrowed. */
void remote_target_headers(const char *out[REMOTE_HEADERS_MAX],
	const struct remote_target *target);
