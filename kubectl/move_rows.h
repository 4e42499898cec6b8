/* Moves of running VMs that have not ended, as a table. Pure. */
#pragma once

#include "kubectl/output.h"

#include <stdbool.h>
#include <stddef.h>

struct buffer;
struct json_value;

struct move_rows {
	enum output output;
	struct move_row {
		char *namespace, *vm, *source, *target, *state, *reason;
		char *sentence, *text;
		double gain;
	} * rows;
	size_t count, capacity;
};

void move_rows_fini(struct move_rows *rows);

/* Adds a Move, unless it was withdrawn or has ended. */
void move_rows_add(struct move_rows *rows, const struct json_value *move);

/* Appends the list. Running moves come first, then those that save the most. */
void move_rows_write(struct buffer *out, struct move_rows *rows,
	bool has_namespaces);
