/* Bodies of HTTP responses. Pure: values to text. */
#pragma once

#include "aggregator/live/live.h"
#include "aggregator/query/history.h"
#include "aggregator/query/sources.h"
#include "lib/buffer.h"
#include "lib/decimal.h"
#include "lib/json.h"
#include "proto/profile.h"

/* One node as in /v1/nodes, with its age at now_us. */
void body_write_node(struct json *j, const struct live_node *node,
	uint64_t now_us);

/* The figures of a VM as members of the open object. */
void body_write_vm_figures(struct json *j, const struct vm_load *vm);

/* {"namespace","name","days","covered_s", figures, "mean_cores_by_hour":[24
 * values or null]}, as an object of that key. */
void body_write_profile(struct json *j, const char *key,
	const struct profile_request *vm, const struct vm_profile *profile);

/* The last value of a history's column and its text: many columns repeat a
 * value from row to row. */
struct history_cell {
	double value;
	size_t len; /* of text; 0: the value did not repeat yet */
	char text[DECIMAL_MAX];
};

/* A history that is written part by part. */
struct history_text {
	const struct history *history;
	/* The node, or the VM: namespace is NULL for a node. */
	const char *namespace, *name;
	struct sources sources; /* in JSON, if they are known */
	bool as_csv;
	/* NULL, or begins the object in another form: all but "rows". */
	void (*begin)(struct json *j, const struct history_text *text);
	/* Zeroed by the caller. */
	struct json json;
	size_t row;
	bool is_begun;
	struct history_cell cells[HISTORY_QUERY_FIELDS_MAX];
};

/* The names of the figures, as "fields" of the open object. */
void body_write_fields(struct json *j, const struct history_query *query);

/* Appends the next part, some KiB, of
 *     {"node","step_s","from","to","sources","fields":[],
 *      "rows":[[time, value or null]]}
 * with "namespace" and "name" instead of "node" for a VM; or the same as CSV:
 * time,field,... and an empty cell for a gap. False: that was the last part. */
bool body_write_history(struct buffer *out, struct history_text *text);
