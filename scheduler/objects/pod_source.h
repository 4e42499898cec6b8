/* The requests of a pod, from its spec and its status, as entries to be summed:
 * see objects/resource_entries.h. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "scheduler/objects/behaviours.h"
#include "scheduler/objects/container_statuses.h"
#include "scheduler/objects/resource_entries.h"

#include <stdbool.h>

struct pod_source {
	const struct json_value *spec;	 /* borrowed, as is the status */
	const struct json_value *status; /* NULL: an incoming pod */
	struct container_statuses statuses;
	bool is_infeasible; /* the resize to its spec is */
	bool has_pod_level; /* requests that replace those of containers */
	/* The largest of three sums counts; otherwise VIEW_SPEC is the only
	 * one. */
	bool has_views;
	unsigned counted; /* the views that count */
	/* The pod's status has the sums of its containers. */
	bool has_total_status;
	struct error *err;
	int error; /* the first, or 0 */
};

/* status: NULL for an incoming pod. */
struct pod_source pod_source_of(const struct json_value *spec,
	const struct json_value *status, struct behaviours behaviours,
	struct error *err);

/* Appends the entries of all parts; to be called once. source->error: -EBADMSG,
 * some part is no quantity and left out. */
void pod_source_read(struct resource_entries *out, struct pod_source *source);
