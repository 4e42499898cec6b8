/* Prometheus' text format 0.0.4, for /metrics.
 *
 * A metric is a header (HELP and TYPE), then one line per series: name, labels
 * in braces, value. Label values are escaped, and bytes that are not UTF-8
 * become U+FFFD. */
#pragma once

#include "lib/buffer.h"

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

/* Writes the program's version, CPU time and resident memory. */
void exposition_process(struct buffer *out);
