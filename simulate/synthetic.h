/* Nodes and launcher pods for a scenario, read from the JSON that an API server
 * would return. */
#pragma once

#include "scheduler/cluster/node.h"
#include "scheduler/objects/pod.h"
#include "simulate/scenario.h"

/* -EBADMSG, -E2BIG as node_new() and pod_new(). */
must_check int synthetic_node(struct node **out, struct interner *interner,
	const struct scenario_node *from, struct error *err);

/* number becomes the pod's uid, to distinguish VMs of the same name. */
must_check int synthetic_pod(struct pod **out, struct interner *interner,
	const struct scenario_vm *from, size_t number, struct error *err);
