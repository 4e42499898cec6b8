/* The responses of an HTTP server: how they are sent, and how many. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct httpd;
struct httpd_request;

/* Adds a header to the response of a request that has not ended; one for each
 * request, and a second call replaces it. name outlives the server; value is
 * copied and is printable ASCII. */
void httpd_header_set(struct httpd_request *request, const char *name,
	const char *value);

/* By the first digit of the status. */
enum { HTTPD_CLASSES = 6 };

/* Written by libmicrohttpd's thread, read by the loop thread. Zeroed: none. */
struct httpd_responses {
	_Atomic uint64_t classes[HTTPD_CLASSES];
};

/* Responses since the start; those of status 200 to 299 are out[2]. Responses
 * that libmicrohttpd gives by itself, to what is no request, do not count. */
void httpd_responses_read(const struct httpd *httpd,
	uint64_t out[HTTPD_CLASSES]);

/* For httpd.c: queues the response of a request. False: libmicrohttpd does not
 * take it. Works on its thread. */
bool httpd_response_queue(struct httpd_request *request);
