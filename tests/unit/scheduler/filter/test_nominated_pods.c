#include "scheduler/filter/nominated_pods.h"

#include "tests/unit/scheduler/verdicts.h"

#define IGNORED "DuringSchedulingIgnoredDuringExecution"
#define NODES                                                                  \
	"'nodes':[" VERDICTS_NODE("a", "'h':'a','z':'1'") "," VERDICTS_NODE(   \
		"b", "'h':'b','z':'2'") "]"
/* Nominated for node a. */
#define NOMINEE(priority, spec)                                                \
	"{'metadata':{'name':'q','namespace':'x','uid':'q','labels':{"         \
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
	/* A claim for one pod: kube-scheduler only looks if it has to look at
	 * disks anyway. */
	{ POD(ONCE("")), NOMINEE("5", ONCE("")), "a; b" },
	{ POD(ONCE(DISK)), NOMINEE("5", ONCE("")),
		"a: node(s) unavailable due to PersistentVolumeClaim with "
		"ReadWriteOncePod access mode already in-use by another pod; "
		"b" },
	{ POD(CPU("9")), NOMINEE("5", CPU("8")), "a: Insufficient cpu; b" },
	{ POD(CPU("9")), NOMINEE("4", CPU("8")), "a; b" },
	{ POD(CPU("8")), NOMINEE("9", CPU("8")), "a; b" },
	{ POD(APART("q")), NOMINEE("5", CPU("1")),
		"a: node(s) didn't match pod anti-affinity rules; b" },
	/* It may never come: nobody can rely on it. */
	{ POD(TOGETHER("q")), NOMINEE("5", CPU("1")),
		"a: node(s) didn't match pod affinity rules; b: node(s) "
		"didn't match pod affinity rules" },
	/* Its own anti-affinity counts only where there was something to ask
	 * before: kube-scheduler skips the plugin otherwise. */
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

static void a_node_must_do_with_and_without_them(void **state)
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

static void the_node_is_as_before(void **state)
{
	const struct filter_options options = FILTER_DEFAULTS;
	struct names *names = names_new();
	struct pod *pod = given_pod(names, POD(CPU("9")));
	struct pod *nominee = given_pod(names, NOMINEE("5", CPU("8")));
	struct prefilter prefilter = { 0 };
	struct cluster cluster;
	struct node *node = given_plain_node(names, "a");

	(void)state;
	cluster_init(&cluster, names);
	cluster_add_node(&cluster, node);
	cluster_nominate(&cluster, nominee);
	prefilter_run(&prefilter, pod, &cluster);
	assert_true(nominees_filter(&prefilter, node, &options, 0) ==
		UINT64_C(1) << REASON_CPU);
	assert_int_equal(node->cpu_milli_requested, 0);
	assert_int_equal(node->guest_count, 0);
	cluster_unnominate(&cluster, nominee);
	assert_true(nominees_filter(&prefilter, node, &options, 0) == 0);
	prefilter_fini(&prefilter);
	cluster_fini(&cluster);
	pod_free(pod);
	pod_free(nominee);
	names_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_must_do_with_and_without_them),
		cmocka_unit_test(the_node_is_as_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
