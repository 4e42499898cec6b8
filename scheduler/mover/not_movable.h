/* VMs of hot nodes that may not be moved, and why: people ask that first when
 * nothing cools a node. The first of a round, for /v1/rebalance. */
#pragma once

#include "lib/json.h"
#include "scheduler/cache/cache.h"
#include "scheduler/kubevirt/vmi.h"

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

void not_movable_write(struct json *j, const struct not_movable *held);
