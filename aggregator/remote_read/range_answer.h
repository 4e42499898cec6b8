/* The answer of an engine to a range query: JSON as of Prometheus' HTTP API,
 * which VictoriaMetrics, Mimir and Thanos speak too. Pure.
 *
 * The reader builds no tree: an answer has up to a hundred thousand numbers,
 * and the event loop reads it. Its time is in proportion to the bytes, twice at
 * most, and it takes no memory. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The points of the question, and where their values go. */
struct range_answer_grid {
	uint64_t from_us; /* the time of the first point */
	uint64_t step_us;
	size_t rows;
	size_t fields;
	const char *label; /* of a series: the number of its field */
	double *values;	   /* rows times fields, row after row */
};

/* Puts the finite values of the answer into the grid, each at the point that is
 * nearest to its time, and leaves the others as they are. Ignores series of
 * other fields and times outside of the grid. *found is the number of values.
 * text ends with a NUL. -EBADMSG: not such an answer; -EPROTO: the engine
 * answered with an error, whose text is in the sentence. */
must_check int range_answer_read(size_t *found,
	const struct range_answer_grid *grid, const char *text, size_t len,
	struct error *err);

/* Writes the text of an engine's error into out, as one line that can be
 * printed, or "" if the answer has none. */
void answer_error(char *out, size_t size, const char *text, size_t len);
