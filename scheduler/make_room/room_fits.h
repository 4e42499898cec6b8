/* The largest VMs that fit in a cluster, now and after moves.
 *
 * A VM fits now if a node's filters admit its pod, as of a VM without a
 * PriorityClass. It fits after moves if plan_find() finds a plan for a pod
 * whose PriorityClass is above those of all VMs. */
#pragma once

#include "lib/json.h"
#include "scheduler/launcher/launcher_shape.h"
#include "scheduler/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ROOM_SHAPES = 3,	/* 4/16, 8/32 and 16/64 */
	ROOM_COPIES_MAX = 1000, /* more are not counted */
	ROOM_NODE_MAX = 254,	/* a node's name, with its end */
	/* The largest VM is sought among these, with 4 GiB for each vCPU. */
	ROOM_VCPUS_MAX = 128,
	ROOM_VCPU_GIB = 4,
	ROOM_MESSAGE_MAX = 128,
};

/* Filters that the searches for plans may compute in all. A search gets an even
 * share of what is left. With the 24 searches of four kinds that no node has
 * room for, this is about 2 s at 1,000 nodes and 30,000 VMs. */
#define ROOM_WORK UINT64_C(4000000)

struct room_fit {
	struct launcher_size size;
	size_t nodes;	 /* where it fits now */
	unsigned copies; /* that fit now in all, up to ROOM_COPIES_MAX */
	bool fits_after_moves;
	size_t moves;	 /* of the plan; 0: it fits now */
	bool is_cut_off; /* the search for a plan ended at a limit */
	char message[PLAN_SENTENCE_MAX];
};

struct room_largest {
	unsigned vcpus; /* 0: no VM fits */
	size_t moves;
	char node[ROOM_NODE_MAX];
};

struct room_kind {
	struct launcher_shape shape;
	char message
		[ROOM_MESSAGE_MAX]; /* why no node offers it; "": one does */
	struct room_fit fits[ROOM_SHAPES];
	struct room_largest now, after_moves;
	bool is_cut_off; /* a larger VM may fit after moves */
};

struct room_fits {
	struct launcher_settings settings;
	struct room_kind kinds[LAUNCHER_KINDS];
	size_t nodes, vms; /* that were looked at */
	unsigned max_moves;
	int64_t now_us; /* of the cluster */
};

/* Prepares the pods, with the interner of the cluster. */
void room_fits_init(struct room_fits *fits, struct interner *interner,
	const struct launcher_settings *settings);

/* Once, in any thread. The input is the same afterwards. Ends soon after
 * input->stop is set, with an answer that says too little. */
void room_fits_find(struct room_fits *fits, const struct plan_input *input);

/* Appends the members of an object, from "nodes" to "kinds". Works after
 * room_fits_fini(), too. */
void room_fits_write(const struct room_fits *fits, struct json *j);

/* Frees the pods. Zeroed is fine. */
void room_fits_fini(struct room_fits *fits);
