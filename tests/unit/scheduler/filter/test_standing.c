/* Whether a VM may stand on a node. */
#include "scheduler/filter/standing.h"

#include "scheduler/filter/filter.h"
#include "tests/unit/scheduler/given.h"

enum { PODS_MAX = 8 };

static struct scene {
	struct interner *interner;
	struct cluster cluster;
	struct pod *pods[PODS_MAX]; /* owned */
	size_t count;
} scene;

/* spec: members of the Node's spec. */
static struct node *put_node(const char *name, const char *labels,
	const char *spec)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s','labels':{'kubernetes.io/hostname':"
		"'%s'%s}},'spec':{%s},'status':{'allocatable':{'cpu':'1',"
		"'memory':'1Gi','pods':'1'}}}",
		name, name, labels, spec);
	struct node *node = given_node(scene.interner, json);

	cluster_add_node(&scene.cluster, node);
	return node;
}

/* A pod of the group g that runs on the node; NULL: on none. */
static struct pod *put_pod(const char *name, struct node *node,
	const char *spec)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s','namespace':'ns','uid':'%s',"
		"'labels':{'app':'g'}},'spec':{%s'containers':[{'resources':{"
		"'requests':{'cpu':'64','memory':'64Gi'}}}]}}",
		name, name, spec);
	struct pod *pod = given_pod(scene.interner, json);

	scene.pods[scene.count++] = pod;
	if (node != NULL) {
		cluster_add_pod(&scene.cluster, node, pod, 0);
	}
	return pod;
}

static int setup(void **state)
{
	(void)state;
	scene = (struct scene){ .interner = interner_new() };
	cluster_init(&scene.cluster, scene.interner);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (size_t n = 0; n < scene.cluster.count; n++) {
		struct node *node = scene.cluster.nodes[n];

		while (node->pod_count > 0) {
			cluster_remove_pod(&scene.cluster, node,
				node->pods[0].pod);
		}
	}
	for (size_t i = 0; i < scene.count; i++) {
		pod_free(scene.pods[i]);
	}
	cluster_fini(&scene.cluster);
	interner_free(scene.interner);
	return 0;
}

static uint64_t bit(enum filter_reason reason)
{
	return UINT64_C(1) << reason;
}

/* ---- the pod and the node alone ---- */

#define REQUIRED(expression)                                                   \
	"'affinity':{'nodeAffinity':{"                                         \
	"'requiredDuringSchedulingIgnoredDuringExecution':{"                   \
	"'nodeSelectorTerms':[{'matchExpressions':[" expression "]}]}}},"

static void what_people_say_counts(void **state)
{
	static const struct {
		const char *pod, *taints; /* of the node, with the label a=b */
		unsigned reason;	  /* 0: it may stand there */
	} cases[] = {
		{ "", "", 0 },
		{ "'nodeSelector':{'a':'b'},", "", 0 },
		{ "'nodeSelector':{'a':'c'},", "", REASON_AFFINITY },
		{ "'nodeSelector':{'other':'b'},", "", REASON_AFFINITY },
		{ REQUIRED("{'key':'a','operator':'In','values':['b']}"), "",
			0 },
		{ REQUIRED("{'key':'a','operator':'NotIn','values':['b']}"), "",
			REASON_AFFINITY },
		{ "", "{'key':'team','effect':'NoSchedule'}", REASON_TAINT },
		{ "", "{'key':'team','effect':'NoExecute'}", REASON_TAINT },
		{ "'tolerations':[{'key':'team','operator':'Exists'}],",
			"{'key':'team','effect':'NoExecute'}", 0 },
	};
	(void)state;

	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *name = xasprintf("n%zu", i);
		scoped_free char *spec =
			xasprintf("'taints':[%s]", cases[i].taints);
		struct node *node = put_node(name, ",'a':'b'", spec);
		struct pod *pod = put_pod(name, NULL, cases[i].pod);

		assert_true(standing_by_rules(pod, node) ==
			(cases[i].reason == 0 ? 0 : bit(cases[i].reason)));
		pod_free(pod);
		scene.count--;
	}
}

static void what_passes_what_is_preferred_and_what_kubevirt_adds_never_counts(
	void **state)
{
	static const struct {
		const char *pod, *node;
	} cases[] = {
		{ "", "'unschedulable':true" },
		{ "",
			"'taints':[{'key':'node.kubernetes.io/unschedulable',"
			"'effect':'NoSchedule'}]" },
		{ "",
			"'taints':[{'key':'node.kubernetes.io/not-ready',"
			"'effect':'NoExecute'}]" },
		{ "",
			"'taints':[{'key':'kubevirt.io/drain',"
			"'effect':'NoSchedule'}]" },
		{ "",
			"'taints':[{'key':'team',"
			"'effect':'PreferNoSchedule'}]" },
		{ "'affinity':{'nodeAffinity':{"
		  "'preferredDuringSchedulingIgnoredDuringExecution':[{"
		  "'weight':100,'preference':{'matchExpressions':[{'key':"
		  "'other','operator':'Exists'}]}}]}},",
			"" },
		{ "'nodeSelector':{'kubevirt.io/schedulable':'true',"
		  "'cpumanager':'true',"
		  "'machine-type.node.kubevirt.io/q35':'true'},",
			"" },
	};
	(void)state;

	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *name = xasprintf("n%zu", i);
		struct node *node = put_node(name, "", cases[i].node);
		struct pod *pod = put_pod(name, NULL, cases[i].pod);

		assert_true(standing_by_rules(pod, node) == 0);
		assert_false(standing_needs_counts(pod));
		pod_free(pod);
		scene.count--;
	}
	/* Such a domain may be anybody's. */
	assert_true(standing_by_rules(put_pod("p", NULL,
					      "'nodeSelector':{"
					      "'notkubevirt.io/x':'y'},"),
			    put_node("n", "", "")) == bit(REASON_AFFINITY));
}

/* ---- other pods ---- */

#define TERM(key)                                                              \
	"{'labelSelector':{'matchLabels':{'app':'g'}},'topologyKey':'" key     \
	"'"                                                                    \
	"}"
#define APART                                                                  \
	"'affinity':{'podAntiAffinity':{"                                      \
	"'requiredDuringSchedulingIgnoredDuringExecution':[" TERM(             \
		"kubernetes.io/hostname") "]}},"
#define SPREAD(when)                                                           \
	"'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'zone',"      \
	"'whenUnsatisfiable':'" when                                           \
	"','labelSelector':{'matchLabels':{'app':'g'}}}],"

/* The pod's reasons on the node, as if it did not run on `from`. */
static uint64_t by_counts(const struct pod *pod, struct node *from,
	const struct node *node)
{
	struct standing standing = { 0 };
	uint64_t reasons;

	assert_true(standing_needs_counts(pod));
	assert_true(standing_prepare(&standing, &scene.cluster, pod,
		&(const struct pod_on_node){ pod, from }));
	reasons = standing_by_counts(&standing, node);
	standing_fini(&standing);
	return reasons;
}

static void two_that_keep_apart_violate_it_together_and_not_alone(void **state)
{
	struct node *a = put_node("a", "", "");
	struct node *b = put_node("b", "", "");
	struct pod *one = put_pod("one", a, APART);
	struct pod *two;
	(void)state;

	assert_true(by_counts(one, a, a) == 0);
	two = put_pod("two", a, "");
	assert_true(by_counts(one, a, a) == bit(REASON_POD_ANTI_AFFINITY));
	assert_true(by_counts(one, a, b) == 0);
	/* It is for the other one to leave, which wants that. */
	assert_false(standing_needs_counts(two));
}

static void the_anti_affinity_of_others_is_not_its_own(void **state)
{
	struct node *a = put_node("a", ",'zone':'1'", "");
	struct pod *other = put_pod("other", a, APART);
	struct pod *pod = put_pod("pod", a, SPREAD("DoNotSchedule"));
	(void)state;
	(void)other;

	(void)put_node("b", ",'zone':'1'", "");
	assert_true(by_counts(pod, a, a) == 0);
}

static void an_affinity_that_is_not_met_any_more_is_violated(void **state)
{
	static const char together[] =
		"'affinity':{'podAffinity':{"
		"'requiredDuringSchedulingIgnoredDuringExecution':[{"
		"'labelSelector':{'matchLabels':{'app':'other'}},"
		"'topologyKey':'kubernetes.io/hostname'}]}},";
	struct node *a = put_node("a", "", "");
	struct pod *pod = put_pod("pod", a, together);
	(void)state;

	assert_true(by_counts(pod, a, a) == bit(REASON_POD_AFFINITY));
}

static void a_spread_counts_without_the_vm_itself(void **state)
{
	struct node *a = put_node("a", ",'zone':'1'", "");
	struct node *b = put_node("b", ",'zone':'2'", "");
	struct node *none = put_node("c", "", "");
	struct pod *pod = put_pod("p", a, SPREAD("DoNotSchedule"));
	(void)state;

	assert_true(by_counts(pod, a, a) == 0);
	(void)put_pod("q", a, "");
	assert_true(by_counts(pod, a, a) == bit(REASON_SPREAD));
	assert_true(by_counts(pod, a, b) == 0);
	assert_true(by_counts(pod, a, none) == bit(REASON_SPREAD_LABEL));
	(void)put_pod("r", b, "");
	assert_true(by_counts(pod, a, a) == 0);
	(void)put_pod("s", b, "");
	assert_true(by_counts(pod, a, b) == bit(REASON_SPREAD));
}

static void preferences_need_no_counts(void **state)
{
	static const char *const specs[] = {
		SPREAD("ScheduleAnyway"),
		"'affinity':{'podAntiAffinity':{"
		"'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':"
		"100,'podAffinityTerm':" TERM("kubernetes.io/hostname") "}]}},",
	};
	(void)state;

	for (size_t i = 0; i < count_of(specs); i++) {
		assert_false(
			standing_needs_counts(put_pod("p", NULL, specs[i])));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_people_say_counts),
		TEST(what_passes_what_is_preferred_and_what_kubevirt_adds_never_counts),
		TEST(two_that_keep_apart_violate_it_together_and_not_alone),
		TEST(the_anti_affinity_of_others_is_not_its_own),
		TEST(an_affinity_that_is_not_met_any_more_is_violated),
		TEST(a_spread_counts_without_the_vm_itself),
		TEST(preferences_need_no_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
