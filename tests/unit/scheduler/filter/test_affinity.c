#include "scheduler/filter/affinity.h"

#include "tests/unit/scheduler/verdicts.h"

#define IGNORED "DuringSchedulingIgnoredDuringExecution"
#define NODES                                                                  \
	"'nodes':[" VERDICTS_NODE("a",                                         \
		"'host':'a','zone':'1'") "," VERDICTS_NODE("b",                \
		"'host':'b','zone':'1'") "," VERDICTS_NODE("c",                \
		"'host':'c','zone':'2'") "," VERDICTS_NODE("d", "") "]"
#define POD(name, ns, label, node, affinity)                                   \
	"{'metadata':{'name':'" name "','namespace':'" ns "','uid':'" name     \
	"','labels':{'app':'" label                                            \
	"'}},'spec':{"                                                         \
	"'nodeName':'" node "','affinity':{" affinity "}}}"
#define TERM(app, key, more)                                                   \
	"{'labelSelector':{'matchLabels':{'app':'" app                         \
	"'}},"                                                                 \
	"'topologyKey':'" key "'" more "}"
#define TO(terms) "'podAffinity':{'required" IGNORED "':[" terms "]}"
#define FROM(terms) "'podAntiAffinity':{'required" IGNORED "':[" terms "]}"

/* namespaceSelectors */
#define NAMESPACES(expression)                                                 \
	",'namespaceSelector':{'matchExpressions':[{" expression "}]}"
#define NOT_T NAMESPACES("'key':'t','operator':'DoesNotExist'")
#define NOT_IN_T NAMESPACES("'key':'t','operator':'NotIn','values':['1']")
#define NAMESPACE(name, labels)                                                \
	"{'kind':'Namespace','metadata':{'name':'" name "','labels':{" labels  \
	"}}}"

#define NOT_MET "node(s) didn't match pod affinity rules"
#define UNWANTED "node(s) didn't match pod anti-affinity rules"
#define EXISTING "node(s) didn't satisfy existing pods anti-affinity rules"
#define NONE "a; b; c; d"

static const struct {
	const char *pod, *pods, *objects, *expected;
} cases[] = {
	/* The incoming pod's anti-affinity. */
	{ POD("p", "x", "web", "", FROM(TERM("db", "host", ""))),
		POD("q", "x", "db", "a", ""), "", "a: " UNWANTED "; b; c; d" },
	{ POD("p", "x", "web", "", FROM(TERM("db", "zone", ""))),
		POD("q", "x", "db", "a", ""), "",
		"a: " UNWANTED "; b: " UNWANTED "; c; d" },
	{ POD("p", "x", "web", "", FROM(TERM("db", "host", ""))),
		POD("q", "y", "db", "a", ""), "", NONE },
	{ POD("p", "x", "web", "",
		  FROM(TERM("db", "host", ",'namespaces':['y']"))),
		POD("q", "y", "db", "a", "") "," POD("r", "x", "db", "b", ""),
		"", "a: " UNWANTED "; b; c; d" },
	/* The existing pods' anti-affinity. */
	{ POD("p", "x", "web", "", ""),
		POD("q", "x", "db", "a", FROM(TERM("web", "zone", ""))), "",
		"a: " EXISTING "; b: " EXISTING "; c; d" },
	{ POD("p", "y", "web", "", ""),
		POD("q", "x", "db", "a", FROM(TERM("web", "zone", ""))), "",
		NONE },
	/* Without a label selector no pod matches, with an empty one all. */
	{ POD("p", "x", "web", "", FROM("{'topologyKey':'host'}")),
		POD("q", "x", "db", "a", ""), "", NONE },
	{ POD("p", "x", "web", "",
		  FROM("{'topologyKey':'host','labelSelector':{}}")),
		POD("q", "x", "db", "a", ""), "", "a: " UNWANTED "; b; c; d" },
	/* Affinity: the same pod must match both terms. */
	{ POD("p", "x", "web", "", TO(TERM("db", "zone", ""))),
		POD("q", "x", "db", "a", ""), "",
		"a; b; c: " NOT_MET "; d: " NOT_MET },
	{ POD("p", "x", "web", "",
		  TO(TERM("db", "zone", "") "," TERM("db", "host", ""))),
		POD("q", "x", "db", "a", ""), "",
		"a; b: " NOT_MET "; c: " NOT_MET "; d: " NOT_MET },
	{ POD("p", "x", "web", "",
		  TO(TERM("db", "zone", "") "," TERM("fs", "zone", ""))),
		POD("q", "x", "db", "a", "") "," POD("r", "x", "fs", "a", ""),
		"",
		"a: " NOT_MET "; b: " NOT_MET "; c: " NOT_MET "; d: " NOT_MET },
	/* The first pod of a group fits where the key exists, but not if a pod
	 * of the group exists elsewhere, or if it does not match itself. */
	{ POD("p", "x", "web", "", TO(TERM("web", "zone", ""))), "", "",
		"a; b; c; d: " NOT_MET },
	{ POD("p", "x", "web", "", TO(TERM("web", "zone", ""))),
		POD("q", "x", "web", "c", ""), "",
		"a: " NOT_MET "; b: " NOT_MET "; c; d: " NOT_MET },
	{ POD("p", "x", "web", "", TO(TERM("db", "zone", ""))), "", "",
		"a: " NOT_MET "; b: " NOT_MET "; c: " NOT_MET "; d: " NOT_MET },
	/* The reason of affinity comes before that of anti-affinity. */
	{ POD("p", "x", "web", "",
		  TO(TERM("db", "zone", "")) "," FROM(TERM("db", "host", ""))),
		POD("q", "x", "db", "a", FROM(TERM("web", "zone", ""))), "",
		"a: " UNWANTED "; b: " EXISTING "; c: " NOT_MET
		"; d: " NOT_MET },
	/* namespaceSelector. */
	{ POD("p", "x", "web", "",
		  FROM(TERM("db", "host",
			  ",'namespaceSelector':{'matchLabels':{'t':'1'}}"))),
		POD("q", "y", "db", "a", "") "," POD("r", "z", "db", "b",
			"") "," POD("s", "x", "db", "c", ""),
		"{'kind':'Namespace','metadata':{'name':'y','labels':{"
		"'t':'1'}}},{'kind':'Namespace','metadata':{'name':'z'}}",
		"a: " UNWANTED "; b; c; d" },
	{ POD("p", "x", "web", "",
		  FROM(TERM("db", "host", ",'namespaceSelector':{}"))),
		POD("q", "y", "db", "a", ""), "", "a: " UNWANTED "; b; c; d" },
	{ POD("p", "y", "web", "", ""),
		POD("q", "x", "db", "a",
			FROM(TERM("web", "host",
				",'namespaceSelector':{'matchLabels':{"
				"'t':'1'}}"))),
		"{'kind':'Namespace','metadata':{'name':'y','labels':{"
		"'t':'1'}}}",
		"a: " EXISTING "; b; c; d" },
	{ POD("p", "y", "web", "", ""),
		POD("q", "x", "db", "a",
			FROM(TERM("web", "host",
				",'namespaceSelector':{'matchExpressions':[{"
				"'key':'t','operator':'DoesNotExist'}]}"))),
		"{'kind':'Namespace','metadata':{'name':'y','labels':{"
		"'t':'1'}}}",
		NONE },
	/* NotIn and DoesNotExist mean the namespaces whose labels match. */
	{ POD("p", "x", "web", "", FROM(TERM("db", "host", NOT_T))),
		POD("q", "y", "db", "a", "") "," POD("r", "z", "db", "b", ""),
		NAMESPACE("y", "'t':'1'") "," NAMESPACE("z", "'u':'1'"),
		"a; b: " UNWANTED "; c; d" },
	{ POD("p", "x", "web", "", FROM(TERM("db", "host", NOT_IN_T))),
		POD("q", "y", "db", "a", "") "," POD("r", "z", "db", "b", ""),
		NAMESPACE("y", "'t':'1'") "," NAMESPACE("z", "'t':'2'"),
		"a; b: " UNWANTED "; c; d" },
	{ POD("p", "x", "web", "", TO(TERM("db", "host", NOT_IN_T))),
		POD("q", "y", "db", "a", "") "," POD("r", "z", "db", "b", ""),
		NAMESPACE("y", "'t':'1'") "," NAMESPACE("z", "'t':'2'"),
		"a: " NOT_MET "; b; c: " NOT_MET "; d: " NOT_MET },
	/* Terms of the incoming pod select Namespace objects; for terms of
	 * existing pods, a namespace without an object has no labels. */
	{ POD("p", "x", "web", "", FROM(TERM("db", "host", NOT_T))),
		POD("q", "y", "db", "a", ""), "", NONE },
	{ POD("p", "x", "web", "",
		  FROM(TERM("db", "host", NOT_T ",'namespaces':['y']"))),
		POD("q", "y", "db", "a", ""), "", "a: " UNWANTED "; b; c; d" },
	{ POD("p", "y", "web", "", ""),
		POD("q", "x", "db", "a", FROM(TERM("web", "host", NOT_T))), "",
		"a: " EXISTING "; b; c; d" },
	/* A terminated pod does not count. */
	{ POD("p", "x", "web", "", FROM(TERM("db", "host", ""))),
		"{'metadata':{'name':'q','namespace':'x','labels':{"
		"'app':'db'}},'spec':{'nodeName':'a'},'status':{"
		"'phase':'Succeeded'}}",
		"", NONE },
	/* A pod that is being deleted counts. */
	{ POD("p", "x", "web", "", FROM(TERM("db", "host", ""))),
		"{'metadata':{'name':'q','namespace':'x','labels':{"
		"'app':'db'},'deletionTimestamp':'2026-01-01T00:00:00Z'},"
		"'spec':{'nodeName':'a'}}",
		"", "a: " UNWANTED "; b; c; d" },
};

static void filters_like_upstream(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *input = xasprintf(
			"{'pod':%s,'pods':[%s],"
			"'objects':[%s]," NODES "}",
			cases[i].pod, cases[i].pods, cases[i].objects);

		verdicts_check(input, cases[i].expected);
	}
}

/* KubeVirt's target pod of a migration, and the source pod of the same VM. */
static void a_migration_target_leaves_its_source(void **state)
{
	struct interner *interner = interner_new();
	struct json_value *nodes = given_file(GIVEN_DIR "nodes.json");
	struct pod *target = given_pod_of(interner,
		given_file(GIVEN_DIR "pod-migration-target.json"));
	struct pod *source =
		given_pod_of(interner, given_file(GIVEN_DIR "pod-plain.json"));
	struct cluster cluster;
	struct affinity affinity = { 0 };
	struct node *a = NULL;
	struct node *b = NULL;

	(void)state;
	cluster_init(&cluster, interner);
	assert_int_equal(node_new(&a, interner, json_value_first(nodes), NULL),
		0);
	assert_int_equal(
		node_new(&b, interner, json_value_next(json_value_first(nodes)),
			NULL),
		0);
	cluster_add_node(&cluster, a);
	cluster_add_node(&cluster, b);
	cluster_add_pod(&cluster, a, source, 0);
	affinity_prepare(&affinity, target, &cluster);
	assert_int_equal(affinity_filter(&affinity, a), AFFINITY_ANTI);
	assert_int_equal(affinity_filter(&affinity, b), AFFINITY_FITS);

	/* Back again: the terminated pod does not block its node. */
	cluster_remove_pod(&cluster, a, source);
	cluster_add_pod(&cluster, b, target, 0);
	affinity_prepare(&affinity, source, &cluster);
	assert_int_equal(affinity_filter(&affinity, a), AFFINITY_FITS);
	assert_int_equal(affinity_filter(&affinity, b), AFFINITY_EXISTING_ANTI);
	affinity_fini(&affinity);
	cluster_fini(&cluster);
	pod_free(target);
	pod_free(source);
	json_value_free(nodes);
	interner_free(interner);
}

static double points(const struct json_value *answer, const char *node)
{
	const struct json_value *v =
		json_value_first(json_value_get(answer, "nodes"));
	double got = -1;

	while (strcmp(json_value_text_at(v, "name", ""), node) != 0) {
		v = json_value_next(v);
	}
	(void)json_value_number(&got, json_value_at(v, "terms/pod_affinity"));
	return got;
}

#define WANTS(kind, weight, term)                                              \
	"'" kind "':{'preferred" IGNORED "':[{'weight':" weight                \
	",'podAffinityTerm':" term "}]}"

/* The whole term is 100 * 2 / 4: kube-scheduler's weight 2 against 2 for the
 * load. */
static const struct {
	const char *pod, *pods;
	double a, b, c;
} wishes[] = {
	{ POD("p", "x", "web", "",
		  WANTS("podAntiAffinity", "7", TERM("db", "host", ""))),
		POD("q", "x", "db", "a", ""), 0, 50, 50 },
	{ POD("p", "x", "web", "",
		  WANTS("podAffinity", "1", TERM("db", "zone", ""))),
		POD("q", "x", "db", "a", ""), 50, 50, 0 },
	/* Two pods in one zone, one in the other: 2 of 2, 1 of 2. */
	{ POD("p", "x", "web", "",
		  WANTS("podAffinity", "5", TERM("db", "zone", ""))),
		POD("q", "x", "db", "a", "") "," POD("r", "x", "db", "b",
			"") "," POD("s", "x", "db", "c", ""),
		50, 50, 25 },
	/* Preferences of existing pods, and their required affinity at
	 * weight 1. */
	{ POD("p", "x", "web", "", ""),
		POD("q", "x", "db", "a",
			WANTS("podAntiAffinity", "9", TERM("web", "host", ""))),
		0, 50, 50 },
	{ POD("p", "x", "web", "", ""),
		POD("q", "x", "db", "a", TO(TERM("web", "host", ""))) "," POD(
			"r", "x", "db", "b",
			WANTS("podAffinity", "2", TERM("web", "host", ""))),
		25, 50, 0 },
	/* Equal for all nodes: the preference does not apply. */
	{ POD("p", "x", "web", "",
		  WANTS("podAffinity", "5", TERM("db", "zone", ""))),
		"", -1, -1, -1 },
};

static void check_wish(size_t i)
{
	scoped_free char *input = xasprintf("{'pod':%s,'pods':[%s]," NODES "}",
		wishes[i].pod, wishes[i].pods);
	struct json_value *answer = verdicts_answer(input);
	double a = points(answer, "a");
	double b = points(answer, "b");
	double c = points(answer, "c");

	if (a != wishes[i].a || b != wishes[i].b || c != wishes[i].c) {
		fail_msg("%s: %g %g %g", input, a, b, c);
	}
	json_value_free(answer);
}

static void scores_like_upstream(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(wishes); i++) {
		check_wish(i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_like_upstream),
		cmocka_unit_test(a_migration_target_leaves_its_source),
		cmocka_unit_test(scores_like_upstream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
