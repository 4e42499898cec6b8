/* Whether the mover leaves a node alone, for every other thing that happens on
 * it. Pure. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/cluster/cluster.h"
#include "scheduler/kubevirt/node_counters.h"

#include <stdint.h>

/* The reason as the end of a sentence that begins with the node's name; NULL:
 * the node may take part in moves. work: of kubevirt_node(). */
const char *node_exclusion(const struct node *node,
	const struct kubevirt_node *work, int64_t now_us);

/* The same without the node's load, where nobody measures one. */
const char *node_exclusion_by_work(const struct node *node,
	const struct kubevirt_node *work);

/* Appends ": the migration ..." or ": the VM ..." if the exclusion, which one
 * of these returned for this work, is about somebody else's. Not for everybody
 * who may read the other words: it names a VM. */
void node_exclusion_name(struct buffer *out, const char *exclusion,
	const struct kubevirt_node *work);
