/* How many requests an HTTP server has answered, by the first digit of the
 * status. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

struct httpd;

enum { HTTPD_CLASSES = 6 };

/* Written by libmicrohttpd's thread, read by the loop thread. Zeroed: none. */
struct httpd_responses {
	_Atomic uint64_t classes[HTTPD_CLASSES];
};

void httpd_responses_add(struct httpd_responses *responses, int status);

/* Responses since the start; those of status 200 to 299 are out[2]. Responses
 * that libmicrohttpd gives by itself, to what is no request, do not count. */
void httpd_responses_read(const struct httpd *httpd,
	uint64_t out[HTTPD_CLASSES]);
