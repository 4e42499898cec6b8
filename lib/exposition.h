/* Prometheus' text format 0.0.4, as both daemons that are scraped write it.
 *
 * A metric is a head, then a line for each series: the name, its labels in
 * braces, a value. Label values are escaped, and bytes that are not UTF-8
 * become U+FFFD. */
#pragma once

#include "lib/buffer.h"

extern const char exposition_type[]; /* the media type */

enum exposition_kind {
	EXPOSITION_GAUGE,
	EXPOSITION_COUNTER,
	EXPOSITION_HISTOGRAM,
};

/* HELP and TYPE. help is without its full stop. */
void exposition_head(struct buffer *out, const char *name, const char *help,
	enum exposition_kind kind);

/* key="value", after the opening brace or another label. */
void exposition_label(struct buffer *out, const char *key, const char *value);

/* The end of a line, 15 significant digits. */
void exposition_value(struct buffer *out, double value);

/* name{key="value"} number. */
void exposition_series(struct buffer *out, const char *name, const char *key,
	const char *value, double number);

/* A metric of one series without labels; nothing at all if value is not
 * finite. */
void exposition_single(struct buffer *out, const char *name, const char *help,
	enum exposition_kind kind, double value);

/* The program's version, CPU time and resident memory. */
void exposition_process(struct buffer *out);
