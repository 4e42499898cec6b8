/* Prometheus' text format (version 0.0.4), line by line. Pure. */
#pragma once

#include "lib/buffer.h"

#include <stdbool.h>

/* What comes before the samples of a metric; help is a sentence without full
 * stop. */
void metrics_text_head(struct buffer *out, const char *name, const char *help,
	bool is_counter);

/* The end of a sample's line. */
void metrics_text_value(struct buffer *out, double value);

/* After "name{" or another label. value may be any bytes. */
void metrics_text_label(struct buffer *out, const char *key, const char *value);

/* A metric with one sample and no labels; nothing where value is not finite. */
void metrics_text_own(struct buffer *out, const char *name, const char *help,
	bool is_counter, double value);
