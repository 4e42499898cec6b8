/* A cluster for plans, made of short words: nodes have 16 CPUs; VMs request
 * memory in GiB. */
#pragma once

#include "scheduler/plan/plan.h"

#include "tests/unit/scheduler/given.h"
#include "tests/unit/scheduler/plan/told_plans.h"

#include <math.h>

enum { WORLD_VMS = 64 };

/* The world of a test. */
#define WORLD(name)                                                            \
	struct world name;                                                     \
	(void)state;                                                           \
	world_begin(&name)

struct world {
	struct interner *interner;
	struct cluster cluster;
	struct pod *pods[WORLD_VMS]; /* owned; VMs first get plan_vms */
	struct plan_vm vms[WORLD_VMS];
	size_t pod_count, vm_count;
	const char *exclusions[WORLD_VMS];
	struct filter_options filter;
	struct plan_input input;
	struct plan plan;
};

static inline void world_begin(struct world *w)
{
	*w = (struct world){ .interner = interner_new(),
		.filter = FILTER_DEFAULTS };
	cluster_init(&w->cluster, w->interner);
	w->input = (struct plan_input){ .cluster = &w->cluster,
		.filter = &w->filter,
		.vms = w->vms,
		.exclusions = w->exclusions,
		.now_us = INT64_C(10000000000),
		.max_moves = PLAN_MOVES,
		.max_load = PLAN_LOAD_MAX };
}

static inline void world_end(struct world *w)
{
	plan_fini(&w->plan);
	for (size_t i = 0; i < w->cluster.count; i++) {
		while (w->cluster.nodes[i]->pod_count > 0) {
			cluster_remove_pod(&w->cluster, w->cluster.nodes[i],
				w->cluster.nodes[i]->pods[0].pod);
		}
	}
	for (size_t i = 0; i < w->pod_count; i++) {
		pod_free(w->pods[i]);
	}
	cluster_fini(&w->cluster);
	interner_free(w->interner);
}

static inline size_t world_index(const struct world *w, const char *node)
{
	for (size_t i = 0; i < w->cluster.count; i++) {
		if (strcmp(w->cluster.nodes[i]->name, node) == 0) {
			return i;
		}
	}
	fail_msg("no node %s", node);
	return 0;
}

/* labels: "'zone':'1'". more: further allocatable, "'nvidia.com/gpu':'1',". */
static inline void world_node_with(struct world *w, const char *name, int gib,
	const char *labels, const char *more)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s','labels':{'kubernetes.io/hostname':"
		"'%s'%s%s}},'status':{'allocatable':{%s'cpu':'16','memory':"
		"'%dGi','pods':'110'}}}",
		name, name, *labels == '\0' ? "" : ",", labels, more, gib);

	cluster_add_node(&w->cluster, given_node(w->interner, json));
}

static inline void world_node(struct world *w, const char *name, int gib)
{
	world_node_with(w, name, gib, "", "");
}

/* A launcher pod. spec: further fields of the spec, "'priority':5,". */
static inline struct pod *world_pod(struct world *w, const char *name, int gib,
	const char *labels, const char *spec, const char *requests)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s','namespace':'ns','uid':'uid-%s',"
		"'labels':{'kubevirt.io':'virt-launcher'%s%s}},'spec':{%s"
		"'containers':[{'name':'compute','resources':{'requests':{%s"
		"'cpu':'100m','memory':'%dGi'}}}]}}",
		name, name, *labels == '\0' ? "" : ",", labels, spec, requests,
		gib);
	struct pod *pod = given_pod(w->interner, json);

	w->pods[w->pod_count++] = pod;
	return pod;
}

static inline struct plan_vm *world_run(struct world *w, struct pod *pod,
	const char *node)
{
	size_t at = world_index(w, node);

	cluster_add_pod(&w->cluster, w->cluster.nodes[at], pod, 0);
	w->vms[w->vm_count] = (struct plan_vm){ .pod = pod, .node = at };
	w->input.vm_count = ++w->vm_count;
	return &w->vms[w->vm_count - 1];
}

static inline struct plan_vm *world_vm(struct world *w, const char *name,
	const char *node, int gib)
{
	return world_run(w, world_pod(w, name, gib, "", "", ""), node);
}

/* A pod of priority 10 that waits. */
static inline struct pod *world_urgent(struct world *w, int gib)
{
	return world_pod(w, "urgent", gib, "", "'priority':10,", "");
}

static inline const struct plan *world_plan(struct world *w,
	const struct plan_goal *goal)
{
	plan_fini(&w->plan);
	plan_find(&w->plan, &w->input, goal);
	tell_plan(&w->plan);
	return &w->plan;
}

static inline const struct plan *world_fit(struct world *w, struct pod *pod)
{
	return world_plan(w,
		&(struct plan_goal){ .kind = PLAN_POD_FITS, .pod = pod });
}

/* The plan for a node that is gone. */
static inline const struct plan *world_without(struct world *w, size_t node)
{
	return world_plan(w,
		&(struct plan_goal){ .kind = PLAN_NODES_GONE,
			.nodes = &node,
			.node_count = 1 });
}

static inline void world_says(const struct plan *plan, const char *sentence)
{
	assert_string_equal(plan->sentence, sentence);
}
