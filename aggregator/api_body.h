/* The bodies of HTTP answers. Pure: values to text. */
#pragma once

#include "aggregator/history.h"
#include "aggregator/live.h"
#include "lib/buffer.h"

#include <stdint.h>

/* {"epoch","rev","now","nodes":[...]}, nodes by name. */
void body_write_nodes(struct buffer *out, const struct live *live,
	uint64_t now_us, uint64_t wall_us);

/* One node of that list. */
void body_write_node(struct buffer *out, const struct live_node *node,
	uint64_t now_us);

/* {"node","step_s","from","to","fields":[],"rows":[[time, value or null]]} */
void body_write_history(struct buffer *out, const char *node,
	const struct history *history);

/* The same as CSV: time,field,... and an empty cell for a gap. */
void body_write_history_csv(struct buffer *out, const struct history *history);
