/* The bodies of HTTP answers. Pure: values to text. */
#pragma once

#include "aggregator/query/history.h"
#include "aggregator/live/live.h"
#include "lib/buffer.h"
#include "lib/decimal.h"
#include "lib/json.h"
#include "proto/profile.h"

#include <stdint.h>

/* Unix seconds with as many decimals as there are, up to microseconds. */
void body_write_time(struct json *j, const char *key, uint64_t us);

/* One node as in /v1/nodes, with its age at now_us. */
void body_write_node(struct json *j, const struct live_node *node,
	uint64_t now_us);

/* The figures of a VM as members of the object that is open. */
void body_write_vm_figures(struct json *j, const struct vm_load *vm);

/* {"namespace","name","days","covered_s", figures, "mean_cores_by_hour":[24
 * values or null]}, as an object of that key. */
void body_write_profile(struct json *j, const char *key,
	const struct profile_request *vm, const struct vm_past *past);

/* What a column of a history was last: most of what does not change is whole
 * numbers, and the same text again. */
struct history_cell {
	double value;
	size_t len; /* of text; 0: it came once so far */
	char text[DECIMAL_MAX];
};

/* A history on its way out, part by part. */
struct history_text {
	const struct history *history;
	/* The node, or the VM: namespace is NULL for a node. */
	const char *namespace, *name;
	bool as_csv;
	/* Zeroed at first. */
	struct json json;
	size_t row;
	bool is_begun;
	struct history_cell cells[QUERY_FIELDS_MAX];
};

/* Appends some KiB more of
 *     {"node","step_s","from","to","fields":[],"rows":[[time, value or null]]}
 * with "namespace" and "name" instead of "node" for a VM; or of the same as
 * CSV: time,field,... and an empty cell for a gap. False: that was the last. */
bool body_write_history(struct buffer *out, struct history_text *text);
