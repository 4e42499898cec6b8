/* What was recorded of a cluster, made a scenario.
 *
 * `plimsoll-aggregator export` says what VMs used and when; no report says how
 * large they are, what they request and how much of a node is for pods. That is
 * taken from objects of the API server, and what neither says is left out and
 * counted, never guessed. docs/simulate.md describes both files. Pure but for
 * recorded_read(). */
#pragma once

#include "lib/buffer.h"
#include "scheduler/offline/scenario.h"

#define RECORDED_OBJECTS_MAX ((size_t)512 << 20)

/* What is missing. */
struct recorded_gaps {
	size_t nodes, nodes_left_out;
	size_t vms, vms_left_out;
	double cores, cores_left_out; /* used by those, times steps */
	size_t steps, steps_filled;   /* of VMs that are not left out */
};

struct recorded_text {
	const char *record, *objects;
	size_t record_len, objects_len;
};

/* -EBADMSG: not what export writes, or no List of objects, and where; -E2BIG,
 * -ERANGE: beyond a scenario's limits; -ENODATA: nothing is left. */
must_check int recorded_parse(struct scenario *out, struct recorded_gaps *gaps,
	const struct recorded_text *text, struct error *err);

/* The same from files; one of them may be "-", standard input. */
must_check int recorded_read(struct scenario *out, struct recorded_gaps *gaps,
	const char *record, const char *objects, struct error *err);

/* Appends a line for each kind of gap; nothing if there is none. */
void recorded_explain(struct buffer *out, const struct recorded_gaps *gaps);
