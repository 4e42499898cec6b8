/* Reads what the aggregator's GET /v1/nodes answers. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "proto/load.h"

#include <stdbool.h>
#include <stddef.h>

/* Nodes, and VMs on one of them. */
enum { LOAD_JSON_NODES_MAX = 65536, LOAD_JSON_VMS_MAX = REPORT_VMS_MAX };

struct load_answer {
	bool has_now;
	double now_s;		 /* unix time */
	struct node_load *nodes; /* owned; age_us as it was at now */
	size_t count;
};

/* A node without age_s is as old as a year unless its state is "fresh".
 * Members nobody knows are skipped; figures that are missing, null or
 * impossible become NAN. -EBADMSG: wrong types, and where; -E2BIG. */
must_check int load_answer_read(struct load_answer *out,
	const struct value *answer, struct error *err);
void load_answer_fini(struct load_answer *answer); /* zeroed is fine */
