/* The listener that the API server asks about new pods (see
 * admission/review.h). It speaks HTTPS, because the API server calls no other
 * webhooks, and serves POST /mutate-pods and the list of
 * paths at / only. All replicas answer, whether
 * they lead or not: an answer needs the objects that each of them watches. A
 * new certificate is used within TLS_WATCH_MS. */
#pragma once

#include "lib/error.h"
#include "lib/http/httpd_response.h"
#include "lib/tls/tls.h"
#include "scheduler/admission/review.h"

#include <stdint.h>
#include <uv.h>

struct webhook;

struct webhook_options {
	const char *address; /* these outlive the webhook */
	const struct tls_files *tls;
	struct review_by by;
};

/* Errors as httpd_listener_new(). */
must_check int webhook_new(struct webhook **out, uv_loop_t *loop,
	const struct webhook_options *options, struct error *err);

uint16_t webhook_port(const struct webhook *webhook);

/* As httpd_listener_responses(). */
void webhook_responses(const struct webhook *webhook,
	uint64_t out[HTTPD_CLASSES]);

/* As httpd_listener_expiry_s(). */
int64_t webhook_expiry_s(const struct webhook *webhook);

/* As httpd_listener_certificate(). */
const char *webhook_certificate(const struct webhook *webhook);

/* The number of reviews with this outcome. */
uint64_t webhook_reviews(const struct webhook *webhook,
	enum review_outcome outcome);

void webhook_close(struct webhook *webhook); /* NULL is fine */
