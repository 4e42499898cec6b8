#include "scheduler/filter/nominated_pods.h"

#include "tests/unit/scheduler/verdicts.h"

#define IGNORED "DuringSchedulingIgnoredDuringExecution"
#define NODES                                                                  \
	"'nodes':[" VERDICTS_NODE("a", "'h':'a','z':'1'") "," VERDICTS_NODE(   \
		"b", "'h':'b','z':'2'") "]"
/* Nominated for node a. */
#define NOMINEE(priority, spec) NOMINEE_NAMED("q", priority, spec)
#define NOMINEE_NAMED(name, priority, spec)                                    \
	"{'metadata':{'name':'" name "','namespace':'x','uid':'" name          \
	"','labels':{"                                                         \
	"'app':'q'}},'spec':{'priority':" priority "," spec                    \
	"},'status':{'nominatedNodeName':'a'}}"
#define POD(spec)                                                              \
	"{'metadata':{'name':'p','namespace':'x','uid':'p','labels':{"         \
	"'app':'p'}},'spec':{'priority':5," spec "}}"
#define CPU(n) "'containers':[{'resources':{'requests':{'cpu':'" n "'}}}]"
#define APART(app)                                                             \
	"'affinity':{'podAntiAffinity':{'required" IGNORED                     \
	"':[{'topologyKey':'h','labelSelector':{'matchLabels':{'app':'" app    \
	"'}}}]}}"
#define TOGETHER(app)                                                          \
	"'affinity':{'podAffinity':{'required" IGNORED                         \
	"':[{'topologyKey':'h','labelSelector':{'matchLabels':{'app':'" app    \
	"'}}}]}}"

#define DISK ",{'name':'d','iscsi':{'iqn':'i'}}"
#define ONCE(more)                                                             \
	"'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'c'}"     \
	"}" more "]"

static const struct {
	const char *pod, *pods, *expected;
} cases[] = {
	/* ReadWriteOncePod: kube-scheduler checks this only for pods with
	 * disks. */
	{ POD(ONCE("")), NOMINEE("5", ONCE("")), "a; b" },
	{ POD(ONCE(DISK)), NOMINEE("5", ONCE("")),
		"a: node(s) unavailable due to PersistentVolumeClaim with "
		"ReadWriteOncePod access mode already in-use by another pod; "
		"b" },
	{ POD(CPU("9")), NOMINEE("5", CPU("8")), "a: Insufficient cpu; b" },
	{ POD(CPU("9")), NOMINEE("4", CPU("8")), "a; b" },
	{ POD(CPU("8")), NOMINEE("9", CPU("8")), "a; b" },
	{ POD(CPU("9")),
		NOMINEE("4", CPU("8")) "," NOMINEE_NAMED("r", "5", CPU("8")),
		"a: Insufficient cpu; b" },
	{ POD(CPU("9")),
		NOMINEE("5", CPU("4")) "," NOMINEE_NAMED("r", "5", CPU("4")),
		"a: Insufficient cpu; b" },
	{ POD(APART("q")), NOMINEE("5", CPU("1")),
		"a: node(s) didn't match pod anti-affinity rules; b" },
	/* It may never run, so no pod can depend on it. */
	{ POD(TOGETHER("q")), NOMINEE("5", CPU("1")),
		"a: node(s) didn't match pod affinity rules; b: node(s) "
		"didn't match pod affinity rules" },
	/* kube-scheduler skips InterPodAffinity, and with it the anti-affinity
	 * of the nominated pod, unless other terms exist. */
	{ POD(CPU("1")), NOMINEE("5", APART("p")), "a; b" },
	{ POD(APART("r")), NOMINEE("5", APART("p")),
		"a: node(s) didn't satisfy existing pods anti-affinity "
		"rules; b" },
	{ POD("'topologySpreadConstraints':[{'topologyKey':'h','maxSkew':1,"
	      "'whenUnsatisfiable':'DoNotSchedule','labelSelector':{"
	      "'matchExpressions':[{'key':'app','operator':'Exists'}]}}]"),
		NOMINEE("5", CPU("1")),
		"a: node(s) didn't match pod topology spread constraints; b" },
	{ POD("'containers':[{'ports':[{'hostPort':80}]}]"),
		NOMINEE("5", "'containers':[{'ports':[{'hostPort':80}]}]"),
		"a: node(s) didn't have free ports for the requested pod "
		"ports; b" },
};

#define CLAIM                                                                  \
	"{'kind':'PersistentVolumeClaim','metadata':{'namespace':'x','name':"  \
	"'c','annotations':{'pv.kubernetes.io/bind-completed':'yes'}},"        \
	"'spec':{'volumeName':'v','accessModes':['ReadWriteOncePod']}},{"      \
	"'kind':'PersistentVolume','metadata':{'name':'v'}}"

static void a_node_must_fit_with_and_without_nominated_pods(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *input =
			xasprintf("{'pod':%s,'pods':[%s],'objects':[" CLAIM
				  "]," NODES "}",
				cases[i].pod, cases[i].pods);

		verdicts_check(input, cases[i].expected);
	}
}

static void leaves_the_node_unchanged(void **state)
{
	const struct filter_options options = FILTER_DEFAULTS;
	struct interner *interner = interner_new();
	struct pod *pod = given_pod(interner, POD(CPU("9")));
	struct pod *nominated = given_pod(interner, NOMINEE("5", CPU("8")));
	struct prefilter prefilter = { 0 };
	struct cluster cluster;
	struct node *node = given_plain_node(interner, "a");

	(void)state;
	cluster_init(&cluster, interner);
	cluster_add_node(&cluster, node);
	cluster_add_nominated(&cluster, nominated);
	prefilter_run(&prefilter, pod, &cluster);
	assert_true(nominated_pods_filter(&prefilter, node, &options, 0) ==
		UINT64_C(1) << REASON_CPU);
	assert_int_equal(node->cpu_milli_requested, 0);
	assert_int_equal(node->pod_count, 0);
	cluster_remove_nominated(&cluster, nominated);
	assert_true(nominated_pods_filter(&prefilter, node, &options, 0) == 0);
	prefilter_fini(&prefilter);
	cluster_fini(&cluster);
	pod_free(pod);
	pod_free(nominated);
	interner_free(interner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_node_must_fit_with_and_without_nominated_pods),
		cmocka_unit_test(leaves_the_node_unchanged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
