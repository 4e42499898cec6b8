/* Random small clusters, and a judge of plans that shares no code with the
 * search: it tries all sequences of moves on a cluster of its own. */
#pragma once

#include "scheduler/filter/nominated_pods.h"
#include "scheduler/filter/prefilter.h"
#include "tests/unit/scheduler/plan/plan_world.h"

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

/* ---- the judge ---- */

/* The pod may run on the node, by the filters alone. */
static inline bool judge_admits(struct world *w, const struct pod *pod,
	size_t node)
{
	struct prefilter prefilter = { 0 };
	bool may;

	prefilter_run(&prefilter, pod, &w->cluster);
	may = nominated_pods_filter(&prefilter, w->cluster.nodes[node],
		      &w->filter, w->input.now_us) == 0;
	prefilter_fini(&prefilter);
	return may;
}

static inline void judge_move(struct world *w, size_t vm, size_t target)
{
	struct plan_vm *at = &w->vms[vm];

	cluster_remove_pod(&w->cluster, w->cluster.nodes[at->node], at->pod);
	cluster_add_pod(&w->cluster, w->cluster.nodes[target], at->pod, 0);
	at->node = target;
}

struct judge {
	struct world *world;
	const struct plan_goal *goal;
	size_t vm;	     /* the goal's, or WORLD_VMS */
	unsigned char *seen; /* by the nodes of all VMs: moves left + 1 */
	size_t seen_size;
};

static inline bool judge_reached(const struct judge *j)
{
	struct world *w = j->world;

	switch (j->goal->kind) {
	case PLAN_POD_FITS:
		for (size_t i = 0; i < w->cluster.count; i++) {
			if (judge_admits(w, j->goal->pod, i)) {
				return true;
			}
		}
		return false;
	case PLAN_NODE_EMPTY:
		for (size_t i = 0; i < w->vm_count; i++) {
			if (w->vms[i].node == j->goal->nodes[0]) {
				return false;
			}
		}
		return true;
	default:
		return w->vms[j->vm].node !=
			(size_t)w->vms[j->vm].pod->generation;
	}
}

static inline size_t judge_code(const struct world *w)
{
	size_t code = 0;

	for (size_t i = 0; i < w->vm_count; i++) {
		code = code * w->cluster.count + w->vms[i].node;
	}
	return code;
}

static inline bool judge_may_move(const struct judge *j, size_t vm)
{
	const struct plan_vm *at = &j->world->vms[vm];

	return at->why_not == NULL &&
		(j->goal->kind != PLAN_POD_FITS ||
			at->pod->priority < j->goal->pod->priority);
}

static inline bool judge_search(struct judge *j, int moves);

static inline bool judge_try(struct judge *j, size_t vm, int moves)
{
	struct world *w = j->world;
	size_t source = w->vms[vm].node;

	for (size_t t = 0; t < w->cluster.count; t++) {
		bool found;

		if (t == source || !judge_admits(w, w->vms[vm].pod, t)) {
			continue;
		}
		judge_move(w, vm, t);
		found = judge_search(j, moves - 1);
		judge_move(w, vm, source);
		if (found) {
			return true;
		}
	}
	return false;
}

/* Some sequence of at most `moves` legal moves reaches the goal. */
static inline bool judge_search(struct judge *j, int moves)
{
	unsigned char *seen = &j->seen[judge_code(j->world)];

	if (*seen > moves) {
		return false;
	}
	*seen = (unsigned char)(moves + 1);
	if (judge_reached(j)) {
		return true;
	}
	for (size_t i = 0; i < j->world->vm_count && moves > 0; i++) {
		if (judge_may_move(j, i) && judge_try(j, i, moves)) {
			return true;
		}
	}
	return false;
}

static inline bool judge_finds(struct judge *j, int moves)
{
	size_t size = 1;
	bool found;

	for (size_t i = 0; i < j->world->vm_count; i++) {
		size *= j->world->cluster.count;
	}
	j->seen = xcalloc(size, 1);
	found = judge_search(j, moves);
	free(j->seen);
	return found;
}

/* ---- random clusters ---- */

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

/* The same seed gives the same cluster. Returns a pod that waits. */
static inline struct pod *random_world(struct world *w, uint64_t seed)
{
	struct dice d = { .state = seed * 7919 + 17 };
	int nodes = 3 + dice_below(&d, 3);
	int vms = nodes == 3 ? 5 + dice_below(&d, 6) : 6 + dice_below(&d, 3);
	struct traits t = { 0 };

	for (int i = 0; i < 3; i++) {
		dice_below(&d, 2);
	}
	t = (struct traits){ dice_is(&d, 40), dice_is(&d, 25), dice_is(&d, 25),
		dice_is(&d, 25), dice_is(&d, 25), dice_is(&d, 20),
		dice_is(&d, 20), dice_is(&d, 50) };
	world_begin(w);
	random_nodes(w, &d, &t, nodes);
	for (int i = 0; i < vms; i++) {
		random_vm(w, &d, &t, i);
	}
	random_nominated(w, &d, &t);
	return random_pod(w, &d, &t, "urgent", 8 + 2 * dice_below(&d, 6), 10);
}
