/* The target of remote write: the checked flags, and the contents of the files
 * that they name. */
#pragma once

#include "aggregator/remote_write/request_body.h"
#include "kube/http_target.h"
#include "lib/error.h"
#include "lib/options.h"

/* As given on the command line. */
struct target_config {
	struct http_target_config http; /* without a URL: no --remote-write */
	struct option_list labels;
	uint64_t queue_bytes;
};

/* Checks the flags without the files. -EINVAL: the sentence names the flag. */
must_check int target_check(const struct target_config *config,
	struct error *err);

struct target {
	struct http_target http;
	struct request_labels extra;
	char *label_names[REQUEST_EXTRA_MAX]; /* owned; of extra */
};

/* config was checked and outlives it. Fails if a file cannot be read; then
 * there is nothing to release. */
must_check int target_init(struct target *out,
	const struct target_config *config, struct error *err);
void target_fini(struct target *target); /* zeroed is fine */

/* The headers of a request, NULL at the end; borrowed. */
void target_headers(const char *out[HTTP_TARGET_HEADERS_MAX],
	const struct target *target);
