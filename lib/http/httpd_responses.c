#include "lib/http/httpd_responses.h"

#include "lib/http/httpd_private.h"

void httpd_responses_add(struct httpd_responses *responses, int status)
{
	size_t n = (size_t)status / 100;

	if (n < HTTPD_CLASSES) {
		(void)atomic_fetch_add(&responses->classes[n], 1);
	}
}

void httpd_responses_read(const struct httpd *httpd,
	uint64_t out[HTTPD_CLASSES])
{
	for (size_t n = 0; n < HTTPD_CLASSES; n++) {
		out[n] = atomic_load(&httpd->responses.classes[n]);
	}
}
