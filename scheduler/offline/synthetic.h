/* Real nodes and launcher pods for what a scenario only names, read from the
 * JSON an API server would serve. */
#pragma once

#include "scheduler/cluster/node.h"
#include "scheduler/objects/pod.h"
#include "scheduler/offline/scenario.h"

/* -EBADMSG, -E2BIG as node_new() and pod_new(). */
must_check int pretend_node(struct node **out, struct names *names,
	const struct scenario_node *from, struct error *err);

/* number tells entries of one name apart: it becomes the pod's uid. */
must_check int pretend_pod(struct pod **out, struct names *names,
	const struct scenario_vm *from, size_t number, struct error *err);
