/* The PromQL of a history query: expressions whose values are those of the
 * history's rows, over the series that remote write sends. Pure.
 *
 * Row i of a query is the engine's value at the row's end, over the row's time.
 * A counter's mean is rate(), a gauge's avg_over_time(). Both leave a time
 * without samples empty, so that a gap stays a gap. docs/http.md has what
 * differs from rows of the store:
 *   - a row shorter than four intervals is the mean of four, and of memory of
 *     six, because rate() needs samples and only every fifth report of a VM has
 *     its memory;
 *   - a long row is the mean of its known minutes, or of longer parts in a
 *     range of more than a day;
 *   - `_max` and `_p95` look at every interval of a range of half a day, and at
 *     fewer of a longer one, evenly; of contention in two hours.
 *
 * The same series may be there twice, if the engine also reads /metrics: of two
 * values of one pod or node the larger counts. */
#pragma once

#include "aggregator/query/history_query.h"
#include "lib/buffer.h"
#include "lib/options.h"

/* VictoriaMetrics' default of -search.maxQueryLen is 16,384. */
enum { QUERY_TEXT_BYTES_MAX = 16000 };

/* The label that says of which field a series of the answer is: its number. */
extern const char query_text_label[];

struct query_text {
	const char *node;	      /* NULL: a VM */
	const char *namespace, *name; /* of the VM */
	const struct history_query *query;
	uint64_t interval_us;		  /* between reports */
	const struct option_list *labels; /* NAME=VALUE, which series have */
};

/* True: engines can have series of that name. It is UTF-8 and not empty. */
bool query_text_can_match(const struct query_text *text);

/* Appends the expression of one field. */
void query_text_field(struct buffer *out, const struct query_text *text,
	size_t field);

/* Appends one expression for the fields from `first` on, at most `most`, with a
 * series for each. Returns how many fields it has: at least one, and no more
 * than fit into QUERY_TEXT_BYTES_MAX. */
size_t query_text_fields(struct buffer *out, const struct query_text *text,
	size_t first, size_t most);

/* A request to /api/v1/query_range. */
struct query_form {
	const struct query_text *text;
	size_t rows;	     /* the first ones of the query; at least 1 */
	size_t first, most;  /* fields */
	uint64_t timeout_us; /* of the engine */
};

/* Each byte of an expression may take three. */
enum { QUERY_FORM_MAX = 32 * QUERY_TEXT_BYTES_MAX };

/* Writes its body. Point i is the end of row i. Returns how many fields it asks
 * for: see query_text_fields(). */
size_t query_text_form(struct buffer *out, const struct query_form *form);
