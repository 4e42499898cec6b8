/* curl's handles, which keep their options from one request to the next: most
 * requests of a client differ only in URL, headers and body. Private to
 * kube/http*.c. */
#pragma once

#include "kube/http.h"

#include <curl/curl.h>
#include <stdbool.h>

/* The options that requests have in common. References are counted: a request
 * keeps its setup while those after it may have newer certificates. */
struct http_setup;

struct http_handle {
	CURL *easy;
	struct http_setup *setup; /* whose options easy has */
};

/* Copies everything and returns the first reference. Never NULL. */
struct http_setup *http_setup_new(const char *agent,
	const struct http_call *call);
struct http_setup *http_setup_ref(struct http_setup *setup);

/* Overwrites the key with the last reference. NULL is fine. */
void http_setup_release(struct http_setup *setup);

/* Whether the call needs exactly this setup. */
bool http_setup_serves(const struct http_setup *setup,
	const struct http_call *call);

/* Gives a handle the options of setup, unless it has them. A zeroed handle is
 * made first. */
void http_handle_set_up(struct http_handle *handle, struct http_setup *setup);

/* Removes what belongs to one request. */
void http_handle_clear(struct http_handle *handle);

void http_handle_fini(struct http_handle *handle); /* zeroed is fine */
