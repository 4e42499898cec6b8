/* Requests of Prometheus' remote write 1.0, before compression. Pure.
 *
 * A request grows series by series: concatenated packed messages are one
 * message whose lists have the entries of both (protobuf's encoding guide,
 * "Last One Wins"). */
#pragma once

#include "lib/buffer.h"

#include <stddef.h>
#include <stdint.h>

enum {
	REMOTE_LABELS_MAX = 24,
	REMOTE_SAMPLES_MAX = 64, /* a longer series is split */
};

struct remote_label {
	const char *name, *value; /* borrowed; UTF-8 */
};

struct remote_sample {
	double value;
	uint64_t time_ms; /* since 1970 */
};

struct remote_series {
	struct remote_label labels[REMOTE_LABELS_MAX]; /* sorted by name */
	size_t label_count;
	struct remote_sample samples[REMOTE_SAMPLES_MAX]; /* by rising time */
	size_t sample_count;
};

/* Appends one series to the request in out. */
void remote_write_add(struct buffer *out, const struct remote_series *series);
