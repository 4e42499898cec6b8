/* The rules are those of k8s.io/kubernetes 1.36, pkg/apis/core/validation:
 * ValidatePodSpec and what it calls for the parts that constrain a pod. */
#include "scheduler/answers/manifest_check.h"

#include "tests/unit/scheduler/given.h"

#include <errno.h>

/* Checks a Pod with this spec. */
static int check(const char *spec, struct error *err)
{
	scoped_free char *json = xasprintf(
		"{'object':{'kind':'Pod','metadata':{'name':'p'},'spec':%s}}",
		spec);
	struct json_value *value = given_json(json);
	struct placement_spec placement;
	int r;

	assert_int_equal(placement_spec_read(&placement, value, NULL), 0);
	r = manifest_check(&placement, err);
	json_value_free(value);
	return r;
}

struct row {
	const char *spec, *why; /* why "": it is admitted */
};

static void expect_row(const struct row *row)
{
	struct error err = { 0 };
	scoped_free char *why = *row->why == '\0'
		? xstrdup("")
		: xasprintf("spec.object.spec.%s", row->why);
	int r = check(row->spec, &err);

	if (r != (*why == '\0' ? 0 : -EINVAL) || strcmp(why, err.text) != 0) {
		fail_msg("%s: %d '%s'", row->spec, r, err.text);
	}
}

static void expect(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		expect_row(&rows[i]);
	}
}

#define SPREAD(rest) "{'topologySpreadConstraints':[{" rest "}]}"
#define ZONE(when, rest)                                                       \
	"'maxSkew':1,'topologyKey':'zone','whenUnsatisfiable':'" when "'" rest
#define SPREAD_WHERE "topologySpreadConstraints[0]"

static void spread_constraints_are_those_that_the_api_server_admits(
	void **state)
{
	static const struct row rows[] = {
		{ "{'topologySpreadConstraints':null}", "" },
		{ SPREAD(ZONE("DoNotSchedule", ",'minDomains':2")), "" },
		{ SPREAD(ZONE("DoNotSchedule", "") "},{" ZONE("ScheduleAnyway",
			  "")),
			"" },
		{ SPREAD(ZONE("DoNotSchedule", "") "},{" ZONE("DoNotSchedule",
			  "")),
			"topologySpreadConstraints[1] repeats topologyKey and "
			"whenUnsatisfiable of another constraint" },
		{ SPREAD(ZONE("Perhaps", "")),
			SPREAD_WHERE ".whenUnsatisfiable is none of the words "
				     "that it may be" },
		{ SPREAD("'maxSkew':0,'topologyKey':'zone',"
			 "'whenUnsatisfiable':'DoNotSchedule'"),
			SPREAD_WHERE ".maxSkew is not above 0" },
		{ SPREAD("'topologyKey':'zone'"),
			SPREAD_WHERE ".maxSkew is not above 0" },
		{ SPREAD("'maxSkew':1.5"),
			SPREAD_WHERE ".maxSkew is not a whole number" },
		{ SPREAD("'maxSkew':1,'whenUnsatisfiable':'DoNotSchedule'"),
			SPREAD_WHERE ".topologyKey is missing" },
		{ SPREAD(ZONE("ScheduleAnyway", ",'minDomains':2")),
			SPREAD_WHERE ".minDomains needs DoNotSchedule" },
		{ SPREAD(ZONE("DoNotSchedule", ",'minDomains':0")),
			SPREAD_WHERE ".minDomains is not above 0" },
		{ SPREAD(ZONE("DoNotSchedule", ",'nodeTaintsPolicy':'No'")),
			SPREAD_WHERE ".nodeTaintsPolicy is none of the words "
				     "that it may be" },
		{ SPREAD(ZONE("DoNotSchedule", ",'matchLabelKeys':['a']")),
			SPREAD_WHERE ".matchLabelKeys needs a labelSelector" },
		{ "{'topologySpreadConstraints':{}}",
			"topologySpreadConstraints is not a list" },
		{ "{'topologySpreadConstraints':['a']}",
			SPREAD_WHERE " is not an object" },
	};

	(void)state;
	expect(rows, count_of(rows));
}

/* As the API server returns it, and with a second expression of the author. */
static void a_key_is_matched_by_its_value_once(void **state)
{
	static const struct row rows[] = {
		{ SPREAD(ZONE("DoNotSchedule",
			  ",'matchLabelKeys':['a'],'labelSelector':{"
			  "'matchExpressions':[{'key':'a','operator':'In',"
			  "'values':['1']}]}")),
			"" },
		{ SPREAD(ZONE("DoNotSchedule",
			  ",'matchLabelKeys':['a'],'labelSelector':{"
			  "'matchLabels':{'a':'1'},'matchExpressions':[{"
			  "'key':'a','operator':'In','values':['1']}]}")),
			SPREAD_WHERE ".matchLabelKeys has a key of the "
				     "labelSelector" },
	};

	(void)state;
	expect(rows, count_of(rows));
}

#define TOLERATION(rest) "{'tolerations':[{" rest "}]}"

static void tolerations_are_those_that_the_api_server_admits(void **state)
{
	static const struct row rows[] = {
		{ TOLERATION("'operator':'Exists'"), "" },
		{ TOLERATION("'key':'a','value':'b','effect':'NoSchedule'"),
			"" },
		{ TOLERATION("'key':'a','operator':'Gt','value':'-9'"), "" },
		{ TOLERATION("'key':'a','operator':'Gt','value':'09'"),
			"tolerations[0].value is not a whole number" },
		{ TOLERATION("'value':'b'"),
			"tolerations[0].operator must be Exists without a "
			"key" },
		{ TOLERATION("'key':'a b'"),
			"tolerations[0].key is not a valid key of labels" },
		{ TOLERATION("'key':'a','operator':'Exists','value':'b'"),
			"tolerations[0].value must be empty with Exists" },
		{ TOLERATION("'key':'a','value':'b c'"),
			"tolerations[0].value is not a valid value of "
			"labels" },
		{ TOLERATION("'key':'a','operator':'Like'"),
			"tolerations[0].operator is none of the words that it "
			"may be" },
		{ TOLERATION("'key':'a','effect':'Never'"),
			"tolerations[0].effect is none of the words that it "
			"may be" },
		{ TOLERATION("'key':'a','tolerationSeconds':9"),
			"tolerations[0].effect must be NoExecute with "
			"tolerationSeconds" },
		{ "{'nodeSelector':{'a':'b c'}}",
			"nodeSelector is not a valid value of labels" },
		{ "{'nodeSelector':{'':'b'}}",
			"nodeSelector has a key that is not valid" },
		{ "{'nodeSelector':['a']}", "nodeSelector is not an object" },
	};

	(void)state;
	expect(rows, count_of(rows));
}

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"
#define NODE_TERMS(terms)                                                      \
	"{'affinity':{'nodeAffinity':{'" REQUIRED                              \
	"':{'nodeSelectorTerms':[" terms "]}}}}"
#define NODE_EXPRESSION(rest)                                                  \
	NODE_TERMS("{'matchExpressions':[{'key':'a'," rest "}]}")
#define NODE_PREFERENCE(rest)                                                  \
	"{'affinity':{'nodeAffinity':{'" PREFERRED "':[{" rest "}]}}}"
#define NODE_WHERE "affinity.nodeAffinity." REQUIRED ".nodeSelectorTerms"
#define EXPRESSION_WHERE NODE_WHERE "[0].matchExpressions[0]"

static void node_affinity_is_that_which_the_api_server_admits(void **state)
{
	static const struct row rows[] = {
		{ NODE_TERMS("{}"), "" },
		{ NODE_TERMS(""), NODE_WHERE " has no term" },
		{ NODE_EXPRESSION("'operator':'Gt','values':['9']"), "" },
		{ NODE_EXPRESSION("'operator':'Gt'"),
			EXPRESSION_WHERE " must have one value with Gt and "
					 "Lt" },
		{ NODE_EXPRESSION("'operator':'In'"),
			EXPRESSION_WHERE " must have values with In and "
					 "NotIn" },
		{ NODE_EXPRESSION("'operator':'Exists','values':['9']"),
			EXPRESSION_WHERE " must have no values with Exists "
					 "and DoesNotExist" },
		{ NODE_EXPRESSION("'operator':'Near','values':['9']"),
			EXPRESSION_WHERE ".operator is not a valid operator" },
		{ NODE_EXPRESSION("'operator':'In','values':['a b']"),
			EXPRESSION_WHERE ".values[0] is not a valid value of "
					 "labels" },
		{ NODE_EXPRESSION("'operator':'In','values':[7]"),
			EXPRESSION_WHERE ".values[0] is not a string" },
		{ NODE_TERMS("{'matchFields':[{'key':'metadata.name',"
			     "'operator':'In','values':['n']}]}"),
			"" },
		{ NODE_TERMS("{'matchFields':[{'key':'metadata.name',"
			     "'operator':'In','values':['n','m']}]}"),
			NODE_WHERE "[0].matchFields[0] must have one value" },
		{ NODE_TERMS("{'matchFields':[{'key':'metadata.uid',"
			     "'operator':'In','values':['n']}]}"),
			NODE_WHERE "[0].matchFields[0].key is not "
				   "metadata.name" },
		{ NODE_PREFERENCE("'weight':1,'preference':{"
				  "'matchExpressions':[{'key':'a','operator':"
				  "'In','values':['a b']}]}"),
			"" },
		{ NODE_PREFERENCE("'weight':100,'preference':{}"), "" },
		{ NODE_PREFERENCE("'weight':101"),
			"affinity.nodeAffinity." PREFERRED
			"[0].weight is not from 1 to 100" },
	};

	(void)state;
	expect(rows, count_of(rows));
}

#define POD_TERM(rest)                                                         \
	"{'affinity':{'podAntiAffinity':{'" REQUIRED "':[{" rest "}]}}}"
#define POD_WHERE "affinity.podAntiAffinity." REQUIRED "[0]"

static void pod_affinity_is_that_which_the_api_server_admits(void **state)
{
	static const struct row rows[] = {
		{ POD_TERM("'topologyKey':'zone','namespaces':['bank'],"
			   "'namespaceSelector':{},'labelSelector':{"
			   "'matchLabels':{'a':'b'}}"),
			"" },
		{ POD_TERM("'namespaces':['bank']"),
			POD_WHERE ".topologyKey is not a valid key of labels" },
		{ POD_TERM("'topologyKey':'zone','namespaces':['A']"),
			POD_WHERE ".namespaces[0] is not a valid namespace" },
		{ POD_TERM("'topologyKey':'zone','namespaces':{'a':'bank'}"),
			POD_WHERE ".namespaces is not a list" },
		{ POD_TERM("'topologyKey':'zone','namespaceSelector':[]"),
			POD_WHERE ".namespaceSelector is not an object" },
		{ POD_TERM("'topologyKey':'zone','labelSelector':{"
			   "'matchExpressions':[{'key':'a','operator':'Gt',"
			   "'values':['1']}]}"),
			POD_WHERE ".labelSelector.matchExpressions[0].operator "
				  "is not a valid operator" },
		{ POD_TERM("'topologyKey':'zone','labelSelector':{},"
			   "'matchLabelKeys':['a'],'mismatchLabelKeys':['a']"),
			POD_WHERE ".matchLabelKeys has a key of "
				  "mismatchLabelKeys" },
		{ "{'affinity':{'podAffinity':{'" PREFERRED
		  "':[{'weight':0,'podAffinityTerm':{'topologyKey':'zone'}"
		  "}]}}}",
			"affinity.podAffinity." PREFERRED
			"[0].weight is not from 1 to 100" },
		{ "{'affinity':{'podAffinity':{'" PREFERRED
		  "':[{'weight':9,'podAffinityTerm':{}}]}}}",
			"affinity.podAffinity." PREFERRED
			"[0].podAffinityTerm.topologyKey is not a valid key "
			"of labels" },
		{ "{'affinity':{'podAffinity':[]}}",
			"affinity.podAffinity is not an object" },
	};

	(void)state;
	expect(rows, count_of(rows));
}

static void the_pod_of_a_vm_is_in_its_template(void **state)
{
	struct json_value *value = given_json(
		"{'object':{'kind':'VirtualMachine','metadata':{'name':'web'},"
		"'spec':{'template':{'metadata':{'labels':{'a':'b c'}},"
		"'spec':{}}}}}");
	struct placement_spec spec;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(placement_spec_read(&spec, value, NULL), 0);
	assert_int_equal(manifest_check(&spec, &err), -EINVAL);
	assert_string_equal(err.text,
		"spec.object.spec.template.metadata.labels is not a valid "
		"value of labels");
	json_value_free(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			spread_constraints_are_those_that_the_api_server_admits),
		cmocka_unit_test(a_key_is_matched_by_its_value_once),
		cmocka_unit_test(
			tolerations_are_those_that_the_api_server_admits),
		cmocka_unit_test(
			node_affinity_is_that_which_the_api_server_admits),
		cmocka_unit_test(
			pod_affinity_is_that_which_the_api_server_admits),
		cmocka_unit_test(the_pod_of_a_vm_is_in_its_template),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
