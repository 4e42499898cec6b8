#include "scheduler/filter/spread.h"

#include <errno.h>
#include <math.h>

#include "tests/unit/scheduler/verdicts.h"

#define NODE(name, labels, spec)                                               \
	"{'metadata':{'name':'" name "','labels':{" labels "}},'spec':{" spec  \
	"},'status':{'allocatable':{'cpu':'16',"                               \
	"'memory':'64Gi','pods':'110'}}}"
/* a and b in zone 1, c in zone 2, d in none. */
#define NODES                                                                  \
	NODE("a", "'h':'a','zone':'1','disk':'ssd'", "")                       \
	"," NODE("b", "'h':'b','zone':'1','disk':'ssd'", "") "," NODE("c",     \
		"'h':'c','zone':'2'", "") "," NODE("d", "'h':'d'", "")
#define POD(name, labels, node, spec)                                          \
	"{'metadata':{'name':'" name "','namespace':'x','uid':'" name          \
	"','labels':{" labels "}},'spec':{'nodeName':'" node "'" spec "}}"
#define WEB "'app':'web'"
#define SPREAD(rules) ",'topologySpreadConstraints':[" rules "]"
#define RULE(key, skew, more)                                                  \
	"{'topologyKey':'" key "','maxSkew':" skew                             \
	",'whenUnsatisfiable':'DoNotSchedule','labelSelector':{"               \
	"'matchLabels':{'app':'web'}}" more "}"
#define SKEW "node(s) didn't match pod topology spread constraints"
#define LABEL                                                                  \
	"node(s) didn't match pod topology spread constraints (missing "       \
	"required label)"

static const struct {
	const char *pod, *pods, *nodes, *expected;
} cases[] = {
	{ POD("p", WEB, "", SPREAD(RULE("zone", "1", ""))), "", NODES,
		"a; b; c; d: " LABEL },
	{ POD("p", WEB, "", SPREAD(RULE("zone", "1", ""))),
		POD("q", WEB, "a", ""), NODES,
		"a: " SKEW "; b: " SKEW "; c; d: " LABEL },
	{ POD("p", WEB, "", SPREAD(RULE("zone", "2", ""))),
		POD("q", WEB, "a", ""), NODES, "a; b; c; d: " LABEL },
	/* The pod does not match itself and does not add to the skew. */
	{ POD("p", "", "", SPREAD(RULE("zone", "1", ""))),
		POD("q", WEB, "a", ""), NODES, "a; b; c; d: " LABEL },
	/* Not counted: other labels, other namespaces, pods being deleted. */
	{ POD("p", WEB, "", SPREAD(RULE("zone", "1", ""))),
		POD("q", "", "a",
			"") ",{'metadata':{'name':'r','namespace':'y',"
			    "'labels':{" WEB "}},'spec':{'nodeName':'a'}},{"
			    "'metadata':{'name':'s','namespace':'x',"
			    "'deletionTimestamp':'2026-01-01T00:00:00Z',"
			    "'labels':{" WEB "}},'spec':{'nodeName':'a'}}",
		NODES, "a; b; c; d: " LABEL },
	/* Below minDomains, the minimum is 0. */
	{ POD("p", WEB, "", SPREAD(RULE("zone", "1", ",'minDomains':3"))),
		POD("q", WEB, "a", "") "," POD("r", WEB, "c", ""), NODES,
		"a: " SKEW "; b: " SKEW "; c: " SKEW "; d: " LABEL },
	{ POD("p", WEB, "", SPREAD(RULE("zone", "1", ",'minDomains':2"))),
		POD("q", WEB, "a", "") "," POD("r", WEB, "c", ""), NODES,
		"a; b; c; d: " LABEL },
	/* Numbers that the API server refuses count as the default. */
	{ POD("p", WEB, "",
		  SPREAD(RULE("zone", "0", ",'minDomains':-3") "," RULE("zone",
			  "3e9", ",'minDomains':3e9"))),
		POD("q", WEB, "a", "") "," POD("r", WEB, "c", ""), NODES,
		"a; b; c; d: " LABEL },
	{ POD("p", WEB, "",
		  SPREAD(RULE("zone", "0", "") "," RULE("zone", "3e9", ""))),
		POD("q", WEB, "a", ""), NODES,
		"a: " SKEW "; b: " SKEW "; c; d: " LABEL },
	/* Node affinity excludes zone 2, unless the policy is Ignore. */
	{ POD("p", WEB, "",
		  SPREAD(RULE("zone", "1",
			  "")) ",'nodeSelector':{'disk':'ssd'}"),
		POD("q", WEB, "a", ""), NODES,
		"a; b; c: node(s) didn't match Pod's node affinity/selector; "
		"d: node(s) didn't match Pod's node affinity/selector" },
	{ POD("p", WEB, "",
		  SPREAD(RULE("zone", "1",
			  ",'nodeAffinityPolicy':'Ignore'")) ",'nodeSelector':{"
							     "'disk':'ssd'}"),
		POD("q", WEB, "a", ""), NODES,
		"a: " SKEW "; b: " SKEW
		"; c: node(s) didn't match Pod's node affinity/selector; d: "
		"node(s) didn't match Pod's node affinity/selector" },
	/* Taints are ignored, unless the policy is Honor. */
	{ POD("p", WEB, "", SPREAD(RULE("h", "1", ""))), POD("q", WEB, "a", ""),
		NODE("a", "'h':'a'", "") "," NODE("b", "'h':'b'",
			"'taints':[{'key':'t','effect':'NoSchedule'}]"),
		"a: " SKEW "; b: node(s) had untolerated taint(s)" },
	{ POD("p", WEB, "",
		  SPREAD(RULE("h", "1", ",'nodeTaintsPolicy':'Honor'"))),
		POD("q", WEB, "a", ""),
		NODE("a", "'h':'a'", "") "," NODE("b", "'h':'b'",
			"'taints':[{'key':'t','effect':'NoSchedule'}]"),
		"a; b: node(s) had untolerated taint(s)" },
	/* A node counts only with the topology keys of all constraints. */
	{ POD("p", WEB, "",
		  SPREAD(RULE("h", "1", "") "," RULE("zone", "9", ""))),
		POD("q", WEB, "a", "") "," POD("r", WEB, "b", "") "," POD("s",
			WEB, "c", ""),
		NODES, "a; b; c; d: " LABEL },
	/* An empty selector counts no pod, but matches the pod itself. */
	{ POD("p", WEB, "",
		  SPREAD("{'topologyKey':'zone','maxSkew':1,"
			 "'whenUnsatisfiable':'DoNotSchedule','labelSelector':"
			 "{}}")),
		POD("q", WEB, "a", "") "," POD("r", WEB, "a", ""), NODES,
		"a; b; c; d: " LABEL },
	{ POD("p", WEB, "",
		  SPREAD("{'topologyKey':'zone','maxSkew':1,"
			 "'whenUnsatisfiable':'DoNotSchedule'}")),
		POD("q", WEB, "a", "") "," POD("r", WEB, "a", ""), NODES,
		"a; b; c; d: " LABEL },
	/* matchLabelKeys: only pods with the same value. */
	{ POD("p", WEB ",'v':'2'", "",
		  SPREAD(RULE("zone", "1", ",'matchLabelKeys':['v','none']"))),
		POD("q", WEB ",'v':'1'", "a", ""), NODES,
		"a; b; c; d: " LABEL },
	{ POD("p", WEB ",'v':'2'", "",
		  SPREAD(RULE("zone", "1", ",'matchLabelKeys':['v','none']"))),
		POD("q", WEB ",'v':'2'", "a", ""), NODES,
		"a: " SKEW "; b: " SKEW "; c; d: " LABEL },
	/* ScheduleAnyway rejects no node. */
	{ POD("p", WEB, "",
		  SPREAD("{'topologyKey':'zone','maxSkew':1,"
			 "'whenUnsatisfiable':'ScheduleAnyway',"
			 "'labelSelector':{'matchLabels':{'app':'web'}}}")),
		POD("q", WEB, "a", ""), NODES, "a; b; c; d" },
};

static void filters_like_upstream(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *input =
			xasprintf("{'pod':%s,'pods':[%s],'nodes':[%s]}",
				cases[i].pod, cases[i].pods, cases[i].nodes);

		verdicts_check(input, cases[i].expected);
	}
}

static double term(const struct json_value *answer, size_t index)
{
	const struct json_value *v =
		json_value_first(json_value_get(answer, "nodes"));
	double got = -1;

	for (; index > 0; index--) {
		v = json_value_next(v);
	}
	(void)json_value_number(&got, json_value_at(v, "terms/spread"));
	return got;
}

#define SOFT_RULE(key)                                                         \
	"{'topologyKey':'" key                                                 \
	"','maxSkew':1,'whenUnsatisfiable':'ScheduleAnyway',"                  \
	"'labelSelector':{'matchLabels':{'app':'web'}}}"
#define SOFT(key) SPREAD(SOFT_RULE(key))

/* Points are half of kube-scheduler's, by weight 2 of 4. With 3 pods in zone 1
 * and one in zone 2 the raw scores are 3 ln 4 = 4 and ln 4 = 1; then
 * 100 * (4 + 1 - raw) / 4 is 25 and 100. A node without a zone gets 0. With 2,
 * 1, 1 and 0 pods on the hosts, times ln 6: 4, 2, 2, 0. */
static const struct {
	const char *pod;
	double points[4];
} soft[] = {
	{ POD("p", WEB, "", SOFT("zone")), { 12.5, 12.5, 50, 0 } },
	{ POD("p", WEB, "", SOFT("kubernetes.io/hostname")),
		{ 0, 25, 25, 50 } },
};
#define HOST(name, more)                                                       \
	NODE(name, "'kubernetes.io/hostname':'" name "'" more, "")

static void check_soft(size_t i)
{
	scoped_free char *input = xasprintf(
		"{'pod':%s,'pods':[%s],'nodes':[%s]}", soft[i].pod,
		POD("q", WEB, "a", "") "," POD("r", WEB, "a", "") "," POD("s",
			WEB, "b", "") "," POD("t", WEB, "c", ""),
		HOST("a", ",'zone':'1'") "," HOST("b", ",'zone':'1'") "," HOST(
			"c", ",'zone':'2'") "," HOST("d", ""));
	struct json_value *answer = verdicts_answer(input);

	for (size_t k = 0; k < 4; k++) {
		given_check(fabs(term(answer, k) - soft[i].points[k]) < 1e-9,
			input);
	}
	json_value_free(answer);
}

static void scores_like_upstream(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(soft); i++) {
		check_soft(i);
	}
}

static void a_cleared_spread_has_no_constraints(void **state)
{
	struct interner *interner = interner_new();
	struct pod *first = given_pod(interner,
		POD("p", WEB, "",
			SPREAD(RULE("zone", "1", "") "," SOFT_RULE("zone"))));
	struct pod *second = given_pod(interner, POD("q", WEB, "", ""));
	const struct cluster none = { 0 };
	struct spread spread = { 0 };

	(void)state;
	spread_prepare(&spread, first, &none);
	assert_int_equal(spread.count, 2);
	assert_int_equal(spread.hard_count, 1);
	assert_int_equal(spread.soft_count, 1);
	spread_clear(&spread, second);
	assert_ptr_equal(spread.pod, second);
	assert_int_equal(spread.count + spread.hard_count + spread.soft_count,
		0);
	spread_fini(&spread);
	pod_free(first);
	pod_free(second);
	interner_free(interner);
}

/* A reused decision must not use the constraints of the last pod. */
static void resets_between_pods(void **state)
{
	struct interner *interner = interner_new();
	struct node *node = given_plain_node(interner, "n");
	struct pod *first = given_pod(interner,
		POD("p", WEB, "", SPREAD(RULE("zone", "1", ""))));
	struct pod *second = given_pod(interner, POD("q", WEB, "", ""));
	const struct cluster cluster = { .nodes = &node, .count = 1 };
	struct spread spread = { 0 };

	(void)state;
	spread_prepare(&spread, first, &cluster);
	assert_int_equal(spread_filter(&spread, node), SPREAD_NO_LABEL);
	pod_free(first);
	spread_prepare(&spread, second, &cluster);
	assert_int_equal(spread_filter(&spread, node), SPREAD_FITS);
	assert_int_equal(spread.soft_count, 0);
	spread_fini(&spread);
	pod_free(second);
	node_free(node);
	interner_free(interner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_like_upstream),
		cmocka_unit_test(scores_like_upstream),
		cmocka_unit_test(a_cleared_spread_has_no_constraints),
		cmocka_unit_test(resets_between_pods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
