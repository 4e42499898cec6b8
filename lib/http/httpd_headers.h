/* Headers of responses beside those that every response has. */
#pragma once

struct httpd_request;

/* Adds a header to the response of a request that has not ended; one for each
 * request, and a second call replaces it. name outlives the server; value is
 * copied and is printable ASCII. */
void httpd_headers_set(struct httpd_request *request, const char *name,
	const char *value);
