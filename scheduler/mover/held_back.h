/* VMs of hot nodes that may not be moved, and why: people ask that first when
 * nothing cools a node. The first of a round, for /v1/rebalance. */
#pragma once

#include "lib/json.h"
#include "scheduler/cache/cache.h"
#include "scheduler/kubevirt/vmi.h"

#include <stddef.h>

/* Names of Kubernetes have at most 253 characters. The message of a condition
 * is cut off. */
enum { HELD_BACK_MAX = 16, HELD_BACK_NAME_MAX = 254, HELD_BACK_WHY_MAX = 256 };

struct held_back_vm {
	char namespace[HELD_BACK_NAME_MAX], vm[HELD_BACK_NAME_MAX];
	char node[HELD_BACK_NAME_MAX];
	char why[HELD_BACK_WHY_MAX];
};

/* Zeroed: none. */
struct held_back {
	struct held_back_vm list[HELD_BACK_MAX];
	size_t count;
};

/* VMs whose disks a migration would copy are left alone: nothing says how long
 * that takes.
 *
 * No effect if the VM can be moved and nobody forbids it, if the list is full,
 * or if vmi is NULL. */
void held_back_note(struct held_back *held, const struct vmi *vmi,
	const struct cache *cache);

void held_back_write(struct json *j, const struct held_back *held);
