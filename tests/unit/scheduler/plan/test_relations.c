/* The index of affinity, beside filters that read all pods. */
#include "scheduler/plan/relations.h"

#include "tests/unit/scheduler/plan/random_world.h"

enum { SEEDS = 300, NODES = 4, VMS = 10, CHANGES = 6 };

struct checked {
	struct world world;
	struct state state;
	struct relations relations;
	struct cluster plain;
	struct move_filter filter, expected;
	size_t rejected; /* by affinity */
};

/* ---- a world of terms ---- */

static const char *selector(struct dice *d)
{
	static const char *const selectors[] = {
		"'matchLabels':{'app':'x'}",
		"'matchLabels':{'app':'y'}",
		"'matchLabels':{'app':'x','tier':'1'}",
		"'matchExpressions':[{'key':'app','operator':'In','values':["
		"'x','y']}]",
		"'matchExpressions':[{'key':'tier','operator':'Exists'}]",
		"'matchExpressions':[{'key':'app','operator':'NotIn','values':["
		"'x']},{'key':'tier','operator':'In','values':['2']}]",
		"",
	};

	return selectors[dice_below(d, (int)count_of(selectors))];
}

static char *term(struct dice *d)
{
	static const char *const scopes[] = { "", "", "'namespaces':['other'],",
		"'namespaceSelector':{}," };

	return xasprintf("{%s'labelSelector':{%s},'topologyKey':'%s'}",
		scopes[dice_below(d, (int)count_of(scopes))], selector(d),
		dice_is(d, 70) ? "kubernetes.io/hostname" : "zone");
}

static char *terms(struct dice *d, const char *kind, int percent)
{
	scoped_free char *first = term(d);
	scoped_free char *second = term(d);
	bool are_two = dice_is(d, 30);

	if (!dice_is(d, percent)) {
		return xstrdup("");
	}
	return xasprintf(
		"'%s':{"
		"'requiredDuringSchedulingIgnoredDuringExecution':["
		"%s%s%s]},",
		kind, first, are_two ? "," : "", are_two ? second : "");
}

static struct pod *add_pod(struct world *w, struct dice *d, int number)
{
	scoped_free char *name = xasprintf("vm-%d", number);
	scoped_free char *anti = terms(d, "podAntiAffinity", 40);
	scoped_free char *affinity = terms(d, "podAffinity", 15);
	scoped_free char *spec =
		xasprintf("'affinity':{%s%s'x':{}},", anti, affinity);
	scoped_free char *labels =
		xasprintf("'app':'%s'%s", dice_is(d, 50) ? "x" : "y",
			dice_is(d, 50)		 ? ""
				: dice_is(d, 50) ? ",'tier':'1'"
						 : ",'tier':'2'");

	return world_pod(w, name, 1, labels, spec, "");
}

static void begin(struct checked *c, uint64_t seed, struct dice *d)
{
	static const char *const names[NODES] = { "a", "b", "c", "d" };
	static const struct plan_goal goal = { .kind = PLAN_NODE_EMPTY };
	struct world *w = &c->world;

	*d = (struct dice){ .state = seed * 7919 + 17 };
	world_begin(w);
	for (int i = 0; i < NODES; i++) {
		world_node_with(w, names[i], 64,
			i % 2 == 0 ? "'zone':'1'" : "'zone':'2'", "");
	}
	for (int i = 0; i < VMS; i++) {
		(void)world_run(w, add_pod(w, d, i),
			names[dice_below(d, NODES)]);
	}
	/* Pods that are no VMs stay where they are. */
	w->input.vm_count -= 2;
	state_begin(&c->state, &w->input, &goal);
	relations_begin(&c->relations, &c->state, NULL);
	c->plain = w->cluster;
	c->plain.affinity_pods = NULL;
	c->plain.affinity_pod_count = 0;
}

static void end(struct checked *c)
{
	move_filter_fini(&c->filter);
	move_filter_fini(&c->expected);
	relations_end(&c->relations);
	state_end(&c->state);
	world_end(&c->world);
}

/* ---- the same answers ---- */

/* The cluster with a list of pods with terms as they are now. */
static struct cluster indexed(const struct checked *c,
	struct pod_on_node list[WORLD_VMS])
{
	struct cluster cluster = c->world.cluster;

	cluster.affinity_pods = list;
	cluster.affinity_pod_count = 0;
	for (size_t i = 0; i < cluster.count; i++) {
		const struct node *node = cluster.nodes[i];

		for (size_t k = 0; k < node->pod_count; k++) {
			list[cluster.affinity_pod_count++] =
				(struct pod_on_node){ node->pods[k].pod, node };
		}
	}
	return cluster;
}

static void check(struct checked *c, const struct pod *pod)
{
	struct pod_on_node list[WORLD_VMS];
	struct cluster cluster = indexed(c, list);
	struct world *w = &c->world;

	move_filter_prepare(&c->expected, &cluster, pod, MOVE_FILTER_MOVE);
	move_filter_prepare_plain(&c->filter, &c->plain, pod, MOVE_FILTER_MOVE);
	(void)relations_count(&c->relations, &c->filter);
	for (size_t i = 0; i < w->cluster.count; i++) {
		struct node *node = w->cluster.nodes[i];
		uint64_t expected = move_filter_node(&c->expected, node,
			&w->filter, w->input.now_us);

		assert_int_equal(move_filter_node(&c->filter, node, &w->filter,
					 w->input.now_us),
			expected);
		c->rejected += expected != 0;
	}
}

static void check_all(struct checked *c)
{
	for (size_t i = 0; i < c->world.pod_count; i++) {
		check(c, c->world.pods[i]);
	}
}

static void an_index_answers_as_a_look_at_all_pods(void **state)
{
	size_t rejected = 0;

	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct checked c = { .rejected = 0 };
		struct dice d;

		begin(&c, seed, &d);
		check_all(&c);
		rejected += c.rejected;
		end(&c);
	}
	assert_in_range(rejected, SEEDS * VMS / 2, SEEDS * VMS * NODES);
}

static void an_index_follows_vms_that_move(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct checked c = { .rejected = 0 };
		struct dice d;

		begin(&c, seed, &d);
		for (size_t vm = 0; vm < CHANGES; vm++) {
			state_step(&c.state, vm, (size_t)dice_below(&d, NODES),
				PLAN_MOVE);
		}
		check_all(&c);
		state_take_off(&c.state, CHANGES);
		check_all(&c);
		state_put_back(&c.state, CHANGES);
		state_undo_step(&c.state);
		check_all(&c);
		end(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_index_answers_as_a_look_at_all_pods),
		cmocka_unit_test(an_index_follows_vms_that_move),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
