/* Reads the response of the aggregator's GET /v1/nodes. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "proto/load.h"

#include <stdbool.h>
#include <stddef.h>

/* Nodes, and VMs of one node. */
enum { LOAD_JSON_NODES_MAX = 65536, LOAD_JSON_VMS_MAX = REPORT_VMS_MAX };

struct load_answer {
	bool has_now;
	double now_s;		 /* unix time */
	struct node_load *nodes; /* owned; age_us at now */
	size_t count;
};

/* Unknown members are skipped; numbers that are missing, null or negative
 * become NAN, and numbers of pages REPORT_UNKNOWN. A node without age_s is a
 * year old, or 0 s if its state is "fresh". -EBADMSG: a wrong type; -E2BIG. The
 * error names the place. */
must_check int load_answer_read(struct load_answer *out,
	const struct json_value *answer, struct error *err);
void load_answer_fini(struct load_answer *answer); /* zeroed is fine */
