/* Prometheus' text format 0.0.4, for /metrics.
 *
 * A metric is a header (HELP and TYPE), then one line per series: name, labels
 * in braces, value. Label values are escaped, and bytes that are not UTF-8
 * become U+FFFD. */
#pragma once

#include "lib/buffer.h"

#include <stddef.h>
#include <stdint.h>

extern const char exposition_type[]; /* the Content-Type */

enum exposition_kind {
	EXPOSITION_GAUGE,
	EXPOSITION_COUNTER,
	EXPOSITION_HISTOGRAM,
};

/* Writes HELP and TYPE. help has no full stop at the end. */
void exposition_head(struct buffer *out, const char *name, const char *help,
	enum exposition_kind kind);

/* Writes key="value" after an opening brace or another label. */
void exposition_label(struct buffer *out, const char *key, const char *value);

/* Writes the value with 15 significant digits and ends the line. */
void exposition_value(struct buffer *out, double value);

/* Writes the line name{key="value"} number. */
void exposition_series(struct buffer *out, const char *name, const char *key,
	const char *value, double number);

/* Writes a metric with one series and no labels, or nothing if value is not
 * finite. */
void exposition_single(struct buffer *out, const char *name, const char *help,
	enum exposition_kind kind, double value);

/* The use of a certificate, and when it expires, in seconds since 1970; 0:
 * there is none, and no series. */
struct exposition_certificate {
	const char *use;
	int64_t expiry_s;
};

/* Writes a gauge with a label "use"; nothing if there is no certificate. */
void exposition_certificates(struct buffer *out, const char *name,
	const struct exposition_certificate *certificates, size_t count);

/* Writes the same of the authorities that a program trusts, without a label;
 * nothing if expiry_s is 0. */
void exposition_authority(struct buffer *out, const char *name,
	int64_t expiry_s);

/* The responses of a listener by the first digit of their status, as of
 * httpd_responses_read(). listener NULL: there is none, and no series. */
struct exposition_responses {
	const char *listener;
	uint64_t classes[6];
};

/* Writes a counter with the labels "listener" and "code", which is 2xx to 5xx.
 * All of them are there from the start, so that a rate sees the first error. */
void exposition_responses(struct buffer *out, const char *name,
	const struct exposition_responses *listeners, size_t count);

/* Writes the program's version, and the process under the names of Prometheus'
 * clients: start, CPU time, resident memory and file descriptors. started_us:
 * wall clock at the start, in microseconds since 1970. */
void exposition_process(struct buffer *out, uint64_t started_us);
