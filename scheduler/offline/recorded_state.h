/* The state of a cluster, as `score --in` and `plan --in` read it from a file.
 *
 * docs/plan.md shows how to record it. "kubernetes_version" chooses among
 * kube-scheduler's behaviours (objects/behaviours.h). A list of objects may be
 * an array, or a List as `kubectl get -o json` prints it. Pure. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "lib/map.h"
#include "scheduler/cluster/cluster.h"
#include "scheduler/offline/load_json.h"
#include "scheduler/offline/profile_json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORDED_STATE_MAX ((size_t)256 << 20)

struct recorded_state_options {
	bool has_pod;	/* "pod" is read and required */
	bool has_moves; /* launcher pods are read with POD_UNSCHEDULED */
};

/* Its clock is unix time in microseconds. */
struct recorded_state {
	struct recorded_state_options options;
	struct interner *interner;
	struct profile_set profiles;
	struct pod *pod; /* owned; NULL: not read */
	struct cluster cluster;
	struct map by_name; /* to struct node, borrowed */
	struct pod **pods;  /* owned; on nodes or nominated */
	size_t pod_count;
	struct load_answer load;
	bool has_load; /* the file has the load of nodes */
	bool has_now;
	int64_t now_us;
};

void recorded_state_init(struct recorded_state *state,
	const struct recorded_state_options *options);
void recorded_state_fini(struct recorded_state *state);

/* To be called once, whether it fails or not. -EBADMSG, -EINVAL, -ERANGE,
 * -E2BIG: the sentence names what is invalid. */
must_check int recorded_state_read(struct recorded_state *state,
	const struct json_value *input, struct error *err);

/* The elements of the list `key`; borrowed. NULL: there is no such list.
 * -EBADMSG: it is not a list. */
must_check int recorded_state_list(const struct json_value **out,
	const struct json_value *input, const char *key, struct error *err);
