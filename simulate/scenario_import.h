/* Makes a scenario from a recording of a cluster.
 *
 * The recording, the output of `plimsoll-aggregator export`, has the usage of
 * VMs. Their sizes and requests, and the allocatable resources of nodes, come
 * from objects of the API server. Nodes and VMs that one of the two does not
 * have are left out and counted, never guessed. docs/simulate.md describes both
 * files. Pure except for scenario_import_read(). */
#pragma once

#include "lib/buffer.h"
#include "simulate/scenario.h"

#define SCENARIO_IMPORT_OBJECTS_MAX ((size_t)512 << 20)

struct scenario_import_gaps {
	size_t nodes, nodes_left_out;
	size_t vms, vms_left_out;
	double cores, cores_left_out; /* used by VMs, times steps */
	size_t steps, steps_filled;   /* of the other VMs */
};

struct scenario_import_text {
	const char *record, *objects;
	size_t record_len, objects_len;
};

/* -EBADMSG: not an export, or not a List of objects; -E2BIG, -ERANGE: above a
 * scenario's limits; -ENODATA: no node or no VM is left. */
must_check int scenario_import_parse(struct scenario *out,
	struct scenario_import_gaps *gaps,
	const struct scenario_import_text *text, struct error *err);

/* The same from files; one may be "-", standard input. */
must_check int scenario_import_read(struct scenario *out,
	struct scenario_import_gaps *gaps, const char *record,
	const char *objects, struct error *err);

/* Appends one line per kind of gap. */
void scenario_import_explain(struct buffer *out,
	const struct scenario_import_gaps *gaps);
