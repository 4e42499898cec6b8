/* The target of remote write: the checked flags, and the contents of the files
 * that they name. Secrets are overwritten before they are freed, and are part
 * of no error sentence. */
#pragma once

#include "aggregator/remote_write/request_body.h"
#include "kube/http.h"
#include "lib/error.h"
#include "lib/options.h"

/* As given on the command line. */
struct target_config {
	const char *url;		    /* NULL: no --remote-write */
	const char *ca, *user, *token_file; /* NULL: none */
	struct option_list headers, labels;
	uint64_t queue_bytes;
};

/* Checks the flags without the files. -EINVAL: the sentence names the flag. */
must_check int target_check(const struct target_config *config,
	struct error *err);

enum { TARGET_HEADERS_MAX = OPTION_LIST_MAX + 6 };

struct target {
	const struct target_config *config;
	char *origin;	     /* of the URL, for errors */
	char *ca;	     /* PEM; NULL: the system's */
	char *authorization; /* a header, or NULL */
	struct request_labels extra;
	char *label_names[REQUEST_EXTRA_MAX]; /* owned; of extra */
};

/* config was checked and outlives it. Fails if a file cannot be read; then
 * there is nothing to release. */
must_check int target_init(struct target *out,
	const struct target_config *config, struct error *err);
void target_fini(struct target *target); /* zeroed is fine */

/* Reads the token again; keeps the old one if that fails. */
void target_refresh(struct target *target);

/* The headers of a request, NULL at the end; borrowed. */
void target_headers(const char *out[TARGET_HEADERS_MAX],
	const struct target *target);
