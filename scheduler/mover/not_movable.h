/* VMs of hot nodes that may not be moved, and why: people ask that first when
 * nothing cools a node. The first of a round, for /v1/rebalance. */
#pragma once

#include "lib/buffer.h"
#include "lib/json.h"
#include "scheduler/cache/cache.h"
#include "scheduler/filter/host_demand.h"
#include "scheduler/kubevirt/vmi.h"

#include <stdbool.h>
#include <stddef.h>

/* Names of Kubernetes have at most 253 characters. The message of a condition
 * is cut off. */
enum {
	NOT_MOVABLE_MAX = 16,
	NOT_MOVABLE_NAME_MAX = 254,
	NOT_MOVABLE_WHY_MAX = 256
};

struct not_movable_vm {
	char namespace[NOT_MOVABLE_NAME_MAX], vm[NOT_MOVABLE_NAME_MAX];
	char node[NOT_MOVABLE_NAME_MAX];
	char why[NOT_MOVABLE_WHY_MAX];
	bool finds_no_node; /* it may move, and KubeVirt demands too much */
};

/* Zeroed: none. */
struct not_movable {
	struct not_movable_vm list[NOT_MOVABLE_MAX];
	size_t count;
};

/* VMs whose disks a migration would copy are left alone: nothing says how long
 * that takes.
 *
 * No effect if the VM can be moved and nobody forbids it, if the list is full,
 * or if vmi is NULL. */
void not_movable_note(struct not_movable *held, const struct vmi *vmi,
	const struct cache *cache);

/* There is room in the list, and the VM of this name is not in it. */
bool not_movable_may_list(const struct not_movable *held,
	const struct pod *pod);

/* The same for a VM that finds no node, as KubeVirt demands what no node with
 * room has. pod and node: its names. No effect without may_list(). */
void not_movable_note_demand(struct not_movable *held, const struct pod *pod,
	const struct node *node, const struct host_demand *demand);

/* A node takes the VM. */
void not_movable_forget_demand(struct not_movable *held, const struct pod *pod);

/* Appends ", and vms/vm-1 stays on node-3: its CPU model ..." for the first VM
 * that finds no node; nothing if there is none. names_vms false: "a VM". */
void not_movable_explain(const struct not_movable *held, bool names_vms,
	struct buffer *why);

void not_movable_write(struct json *j, const struct not_movable *held);
