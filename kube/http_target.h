/* An HTTP server that flags name: its URL, headers, and the files with its CA
 * and its secret. Remote write and remote read have one each.
 *
 * Secrets are overwritten before they are freed, and are part of no error
 * sentence. */
#pragma once

#include "lib/error.h"
#include "lib/options.h"

/* As given on the command line: --FLAG and --FLAG-ca, -user, -token-file and
 * -header. */
struct http_target_config {
	const char *url;		    /* NULL: none */
	const char *ca, *user, *token_file; /* NULL: none */
	struct option_list headers;	    /* "NAME: VALUE" */
};

/* Checks the flags without the files; flag is "remote-write", for example.
 * Without a URL, no other flag may be set; has_more: one that config does not
 * have is set. -EINVAL: the sentence names the flag. */
must_check int http_target_check(const struct http_target_config *config,
	bool has_more, const char *flag, struct error *err);

/* Headers of a request: these, those of the flags, the secret, and NULL. */
enum { HTTP_TARGET_FIXED_MAX = 4 };
enum { HTTP_TARGET_HEADERS_MAX = OPTION_LIST_MAX + HTTP_TARGET_FIXED_MAX + 2 };

struct http_target {
	const struct http_target_config *config;
	char *origin;	     /* of the URL, for errors */
	char *authorization; /* a header, or NULL */
	uint64_t token_us;   /* when the token was read; 0: it is due */
};

/* config was checked and outlives the target. Fails if a file cannot be read;
 * then there is nothing to release. */
must_check int http_target_init(struct http_target *out,
	const struct http_target_config *config, const char *flag,
	struct error *err);
void http_target_fini(struct http_target *target); /* zeroed is fine */

/* Before a request: reads the token again if that was a minute ago, or after
 * http_target_distrust(). Keeps the old one if that fails. */
void http_target_refresh(struct http_target *target);

/* A request failed, and the token may be the cause. */
void http_target_distrust(struct http_target *target);

/* The headers of a request, NULL at the end; borrowed. fixed ends with NULL and
 * has HTTP_TARGET_FIXED_MAX at most. */
void http_target_headers(const char *out[HTTP_TARGET_HEADERS_MAX],
	const struct http_target *target, const char *const *fixed);
