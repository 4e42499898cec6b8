/* The bodies of HTTP answers. Pure: values to text. */
#pragma once

#include "aggregator/history.h"
#include "aggregator/live.h"
#include "lib/buffer.h"
#include "lib/json.h"

#include <stdint.h>

/* Unix seconds with as many decimals as there are, up to microseconds. */
void body_write_time(struct json *j, const char *key, uint64_t us);

/* One node as in /v1/nodes, with its age at now_us. */
void body_write_node(struct json *j, const struct live_node *node,
	uint64_t now_us);

/* The figures of a VM as members of the object that is open. */
void body_write_vm_figures(struct json *j, const struct vm_load *vm);

/* {"node","step_s","from","to","fields":[],"rows":[[time, value or null]]} */
void body_write_history(struct buffer *out, const char *node,
	const struct history *history);

/* The same as CSV: time,field,... and an empty cell for a gap. */
void body_write_history_csv(struct buffer *out, const struct history *history);
