/* The spec of a question, as docs/http.md describes the objects Placement and
 * Plan. Pure. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"

#include <stddef.h>

enum {
	SPEC_NODES_MAX = 256, /* of NodesGone */
	SPEC_NAME_MAX = 253,
};

/* ---- where would it go? ---- */

enum placement_kind {
	PLACEMENT_VM,  /* a VM that is known, by its name */
	PLACEMENT_POD, /* a pod that is known, by its name */
	/* A manifest: */
	PLACEMENT_POD_OBJECT,
	PLACEMENT_VMI_OBJECT,
	PLACEMENT_VM_OBJECT,
};

struct placement_spec {
	enum placement_kind kind;
	const char *name;		 /* of a VM or pod that is known */
	const struct json_value *object; /* the manifest; else NULL */
};

/* Borrows of the value. -EINVAL: the sentence says what is wrong. */
must_check int placement_spec_read(struct placement_spec *out,
	const struct json_value *spec, struct error *err);

/* ---- which moves? ---- */

enum plan_goal_name {
	GOAL_EVACUATE,	 /* nodeNames: one */
	GOAL_NODES_GONE, /* nodeNames */
	GOAL_MOVE,	 /* vmName */
	GOAL_MAKE_ROOM,	 /* podName */
	GOALS,
};

struct plan_spec {
	enum plan_goal_name goal;
	const char *name; /* of the VM or pod; else NULL */
	const char *nodes[SPEC_NODES_MAX];
	size_t node_count; /* none is named twice */
};

/* The same. */
must_check int plan_spec_read(struct plan_spec *out,
	const struct json_value *spec, struct error *err);
