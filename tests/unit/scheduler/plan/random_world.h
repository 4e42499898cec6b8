/* Random small clusters for plans. */
#pragma once

#include "tests/unit/scheduler/plan/judge.h"

struct dice {
	uint64_t state;
};

static inline int dice_below(struct dice *d, int most)
{
	d->state = d->state * UINT64_C(6364136223846793005) +
		UINT64_C(1442695040888963407);
	return (int)((d->state >> 33) % (uint64_t)most);
}

static inline bool dice_is(struct dice *d, int percent)
{
	return dice_below(d, 100) < percent;
}

/* The traits that a cluster's VMs may have. */
struct traits {
	bool cpu, hugepages, device, ports, anti, spread, nominated, fixed;
};

static inline struct pod *random_pod(struct world *w, struct dice *d,
	const struct traits *t, const char *name, int gib, int priority)
{
	const char *app = dice_is(d, 50) ? "x" : "y";
	scoped_free char *labels = xasprintf("'app':'%s'", app);
	scoped_free char *requests = xasprintf("%s%s",
		t->hugepages && dice_is(d, 40) ? "'hugepages-2Mi':'2Gi'," : "",
		t->device && dice_is(d, 30) ? "'example.com/gpu':'1'," : "");
	scoped_free char *anti = xasprintf(
		"'affinity':{'podAntiAffinity':{"
		"'requiredDuringSchedulingIgnoredDuringExecution':[{"
		"'labelSelector':{'matchLabels':{'app':'%s'}},"
		"'topologyKey':'kubernetes.io/hostname'}]}},",
		app);
	scoped_free char *spread = xasprintf(
		"'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':"
		"'zone','whenUnsatisfiable':'DoNotSchedule','labelSelector':{"
		"'matchLabels':{'app':'%s'}}}],",
		app);
	scoped_free char *spec = xasprintf("'priority':%d,%s%s", priority,
		t->anti && dice_is(d, 25) ? anti : "",
		t->spread && dice_is(d, 40) ? spread : "");
	bool has_port = t->ports && dice_is(d, 40);
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s','namespace':'ns','uid':'uid-%s',"
		"'labels':{'kubevirt.io':'virt-launcher',%s}},'spec':{%s"
		"'containers':[{'name':'compute',%s'resources':{'requests':{%s"
		"'cpu':'%dm','memory':'%dGi'}}}]}}",
		name, name, labels, spec,
		has_port ? "'ports':[{'containerPort':80,'hostPort':80}]," : "",
		requests, t->cpu ? 500 * (1 + dice_below(d, 4)) : 100, gib);
	struct pod *pod = given_pod(w->interner, json);

	w->pods[w->pod_count++] = pod;
	return pod;
}

static inline void random_nodes(struct world *w, struct dice *d,
	const struct traits *t, int count)
{
	static const char *const names[] = { "a", "b", "c", "d", "e" };

	for (int i = 0; i < count; i++) {
		scoped_free char *labels = xasprintf("'zone':'%d'", i % 2 + 1);
		scoped_free char *more = xasprintf("%s%s",
			t->hugepages ? "'hugepages-2Mi':'4Gi'," : "",
			t->device && dice_is(d, 70) ? "'example.com/gpu':'1',"
						    : "");

		world_node_with(w, names[i], 12 + 4 * dice_below(d, 4), labels,
			more);
	}
}

/* Cordoned nodes that are empty: no plan uses one, but a search among so many
 * takes its targets from lists. */
enum { RANDOM_CORDONED = 14 };

static inline void random_cordoned(struct world *w)
{
	for (int i = 0; i < RANDOM_CORDONED; i++) {
		scoped_free char *json = xasprintf(
			"{'metadata':{'name':'z%d','labels':{"
			"'kubernetes.io/hostname':'z%d'}},'spec':{"
			"'unschedulable':true},'status':{'allocatable':{"
			"'cpu':'16','memory':'64Gi','pods':'110'}}}",
			i, i);

		cluster_add_node(&w->cluster, given_node(w->interner, json));
	}
}

static inline void random_vm(struct world *w, struct dice *d,
	const struct traits *t, int number)
{
	scoped_free char *name = xasprintf("vm-%d", number);
	struct pod *pod = random_pod(w, d, t, name, 2 * (1 + dice_below(d, 5)),
		dice_is(d, 85) ? 0 : 10);
	bool is_fixed = t->fixed && dice_is(d, 20);
	size_t first = (size_t)dice_below(d, (int)w->cluster.count);

	for (size_t i = 0; i < w->cluster.count; i++) {
		size_t at = (first + i) % w->cluster.count;

		if (judge_admits(w, pod, at)) {
			struct plan_vm *vm =
				world_run(w, pod, w->cluster.nodes[at]->name);

			pod->generation = (int64_t)at;
			vm->why_not = is_fixed ? "cannot be migrated: x" : NULL;
			return;
		}
	}
}

static inline void random_nominated(struct world *w, struct dice *d,
	const struct traits *t)
{
	struct pod *pod;

	if (!t->nominated) {
		return;
	}
	pod = random_pod(w, d, &(struct traits){ 0 }, "nominated", 3,
		dice_is(d, 50) ? 5 : 20);
	free(pod->nominated_node);
	pod->nominated_node = xstrdup(
		w->cluster.nodes[dice_below(d, (int)w->cluster.count)]->name);
	cluster_add_nominated(&w->cluster, pod);
}

/* The same seed gives the same cluster; half are large. Returns a pod that
 * waits. */
static inline struct pod *random_world(struct world *w, uint64_t seed)
{
	struct dice d = { .state = seed * 7919 + 17 };
	int nodes = 3 + dice_below(&d, 3);
	int vms = nodes == 3 ? 5 + dice_below(&d, 6) : 6 + dice_below(&d, 3);
	struct traits t = { 0 };

	t = (struct traits){ dice_is(&d, 40), dice_is(&d, 25), dice_is(&d, 25),
		dice_is(&d, 25), dice_is(&d, 25), dice_is(&d, 20),
		dice_is(&d, 20), dice_is(&d, 50) };
	world_begin(w);
	random_nodes(w, &d, &t, nodes);
	for (int i = 0; i < vms; i++) {
		random_vm(w, &d, &t, i);
	}
	random_nominated(w, &d, &t);
	if (seed % 8 >= 4) {
		random_cordoned(w);
	}
	return random_pod(w, &d, &t, "urgent", 8 + 2 * dice_below(&d, 6), 10);
}
