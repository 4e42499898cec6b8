#include "scheduler/offline/score_cmd.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

#include "tests/support/golden.h"
#include "tests/unit/scheduler/given.h"

#define POD                                                                    \
	"'pod':{'metadata':{'name':'vm','namespace':'vms','uid':'u',"          \
	"'labels':{'kubevirt.io':'virt-launcher'}},'spec':{'containers':[{"    \
	"'name':'compute','resources':{'requests':{'cpu':'400m','memory':"     \
	"'4Gi'}}}]}}"
#define NODE(name)                                                             \
	"{'metadata':{'name':'" name                                           \
	"'},'status':{'allocatable':{'cpu':'16'"                               \
	",'memory':'64Gi','pods':'110'}}}"
#define LOAD(name, age, used)                                                  \
	"{'name':'" name "','age_s':" age                                      \
	",'cpu':{'cores':16,"                                                  \
	"'used_cores_10s':" used ",'used_cores_5m':" used "}}"

static struct json_value *answer_to(const char *input)
{
	scoped_free char *json = given_quotes(input);
	scoped_buffer struct buffer out = BUFFER_MAX(8 << 20);
	struct json_value *answer = NULL;
	struct error err;

	if (score_text(&out, json, strlen(json), &err) < 0) {
		fail_msg("%s", err.text);
	}
	golden_tell("%s", out.data);
	assert_int_equal(json_value_parse(&answer, out.data, out.len, NULL), 0);
	return answer;
}

static const struct json_value *node_called(const struct json_value *answer,
	const char *name)
{
	const struct json_value *list = json_value_get(answer, "nodes");

	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		if (strcmp(json_value_text_at(v, "name", ""), name) == 0) {
			return v;
		}
	}
	fail_msg("no node '%s'", name);
	return NULL;
}

static double score_of(const struct json_value *answer, const char *name)
{
	double score = NAN;

	assert_true(json_value_number(&score,
		json_value_get(node_called(answer, name), "score")));
	return score;
}

/* The score of one node, with these profiles. */
static double score_with_profile(const char *profiles)
{
	scoped_free char *input = xasprintf(
		"{'pod':{'metadata':{'name':'p','namespace':'ns','labels':{"
		"'kubevirt.io':'virt-launcher'},'annotations':{"
		"'kubevirt.io/domain':'vm'}},'spec':{'containers':[{'name':"
		"'compute','resources':{'requests':{'cpu':'400m'}}}]}},"
		"'nodes':[" NODE(
			"a") "],'vms':%s,'load':{'now':1000,'nodes':[" LOAD("a",
			"1", "10") "]}}",
		profiles);
	struct json_value *answer = answer_to(input);
	double score = score_of(answer, "a");

	json_value_free(answer);
	return score;
}

static void scores_by_the_vms_profile(void **state)
{
	double unknown = score_with_profile("[]");
	double small = score_with_profile(
		"[{'namespace':'ns','name':'vm','seconds':86400,"
		"'mean_cores':0.1,'stdev_cores':0.05}]");
	double large = score_with_profile(
		"[{'namespace':'ns','name':'vm','seconds':86400,"
		"'mean_cores':3.5,'stdev_cores':0.05}]");
	double restless = score_with_profile(
		"[{'namespace':'ns','name':'vm','seconds':86400,"
		"'mean_cores':3.5,'p95_cores':9}]");
	double other = score_with_profile(
		"[{'namespace':'ns','name':'x','seconds':86400,"
		"'mean_cores':3.5}]");

	(void)state;
	/* A VM of which nothing is known may jump; a steady VM does not. */
	assert_true(small > unknown + 1 && small > large + 1);
	assert_true(restless < large - 0.5);
	assert_true(fabs(other - unknown) < 1e-9);
}

static void chooses_the_node_with_less_load(void **state)
{
	struct json_value *answer = answer_to(
		"{'policy':'real-load','policy_args':{}," POD ",'nodes':["
		NODE("a") "," NODE("b") "],'pods':[],'objects':[],'vms':[],"
		"'load':{'now':1000,'nodes':[" LOAD("a", "1", "12") "," LOAD(
			"b", "1", "3") "]},'now':1002}");
	const struct json_value *b = node_called(answer, "b");
	double sum = 0;

	(void)state;
	assert_string_equal(json_value_text_at(answer, "chosen", ""), "b");
	assert_true(score_of(answer, "a") < score_of(answer, "b"));
	assert_true(json_value_true(json_value_get(b, "feasible")));
	assert_int_equal(json_value_count(json_value_get(b, "reasons")), 0);
	for (const struct json_value *v =
			json_value_first(json_value_get(b, "terms"));
		v != NULL; v = json_value_next(v)) {
		double term = NAN;

		assert_true(json_value_number(&term, v));
		sum += term;
	}
	assert_true(fabs(sum - score_of(answer, "b")) < 1e-5);
	assert_string_equal(json_value_text_at(answer, "message", ""),
		"b: 19 % CPU used + 6 % by this VM; this VM adds 3.1 "
		"core-minutes of shortage expected in the next hour on a, none "
		"on b; 17 points ahead of a, mostly CPU (17)");
	json_value_free(answer);
}

/* The age is age_s + (now - load.now): the load is an hour old. */
static void ages_the_load_up_to_now(void **state)
{
	static const char *const nows[] = { "1795175212",
		"'2026-11-20T11:46:52Z'" };

	(void)state;
	for (size_t i = 0; i < count_of(nows); i++) {
		scoped_free char *input = xasprintf(
			"{" POD ",'nodes':[" NODE("a") "," NODE(
				"b") "],'load':{'now':1795171612,'nodes':"
				     "[" LOAD("a", "1", "12") "," LOAD("b", "1",
					     "3") "]},'now':%s}",
			nows[i]);
		struct json_value *answer = answer_to(input);

		assert_true(fabs(score_of(answer, "a") -
				    score_of(answer, "b")) < 1e-9);
		assert_string_equal(json_value_text_at(answer, "chosen", ""),
			"a");
		json_value_free(answer);
	}
}

static void counts_pods_that_are_not_terminated(void **state)
{
#define OTHER(name, rest)                                                      \
	"{'metadata':{'name':'" name                                           \
	"','namespace':'vms'},'spec':{'nodeName'"                              \
	":'a','containers':[{'resources':{'requests':{'cpu':'15'}}}]}" rest    \
	"}"
	static const struct {
		const char *pods;
		const char *chosen;
	} cases[] = {
		{ "[]", "a" },
		{ "[" OTHER("x", "") "]", "a" },
		{ "[" OTHER("x", "") "," OTHER("y", "") "]", "" },
		{ "[" OTHER("x", "") "," OTHER("y",
			  ",'status':{'phase':'Succeeded'}") "]",
			"a" },
		{ "[" OTHER("x", "") "," OTHER("vm", "") "]", "a" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *input =
			xasprintf("{" POD ",'nodes':[" NODE("a") "],'pods':%s}",
				cases[i].pods);
		struct json_value *answer = answer_to(input);

		assert_string_equal(json_value_text_at(answer, "chosen", ""),
			cases[i].chosen);
		json_value_free(answer);
	}
}

/* Bound 10 s before now and not yet measured. */
static void charges_vms_that_were_just_bound(void **state)
{
	static const char input[] =
		"{" POD ",'nodes':[" NODE("a") "," NODE("b") "],'pods':[{"
		"'metadata':{'name':'new','namespace':'vms','labels':{"
		"'kubevirt.io':'virt-launcher'}},'spec':{'nodeName':'a',"
		"'containers':[{'resources':{'requests':{'cpu':'400m'}}}]},"
		"'status':{'conditions':[{'type':'PodScheduled','status':"
		"'True','lastTransitionTime':'2026-11-20T10:46:42Z'}]}}],"
		"'load':{'now':1795171612,'nodes':[" LOAD("a", "1", "3") ","
		LOAD("b", "1", "3") "]}}";
	struct json_value *answer = answer_to(input);

	(void)state;
	assert_string_equal(json_value_text_at(answer, "chosen", ""), "b");
	json_value_free(answer);
}

static void explains_why_no_node_fits(void **state)
{
	struct json_value *answer = answer_to(
		"{'pod':{'metadata':{'name':'p'},'spec':{'nodeSelector':{'a':"
		"'b'}}},'nodes':[" NODE("a") "]}");
	const struct json_value *node = node_called(answer, "a");

	(void)state;
	assert_true(json_value_is_null(json_value_get(answer, "chosen")));
	assert_false(json_value_true(json_value_get(node, "feasible")));
	assert_string_equal(json_value_text(json_value_first(
				    json_value_get(node, "reasons"))),
		"node(s) didn't match Pod's node affinity/selector");
	assert_true(fabs(score_of(answer, "a")) < 1e-12);
	assert_int_equal(json_value_count(json_value_get(node, "terms")), 0);
	assert_string_equal(json_value_text_at(answer, "message", ""),
		"0/1 nodes are available: 1 node(s) didn't match Pod's node "
		"affinity/selector.");
	json_value_free(answer);
}

#define PAGES(text) "'hugepages-1Gi':'" text "'"
#define PAGE_NODE(name)                                                        \
	"{'metadata':{'name':'" name                                           \
	"'},'status':{'allocatable':{'cpu':'32','memory':'64Gi','pods':'110'"  \
	"," PAGES("20Gi") "}}}"
#define PAGE_LOAD(name, free)                                                  \
	"{'name':'" name                                                       \
	"','age_s':1,'hugepages':[{'size_bytes':1073741824,"                   \
	"'total':20,'free':" free ",'reserved':0}]}"

/* A program outside Kubernetes holds all pages of the node `taken`. */
static void avoids_huge_pages_that_others_hold(void **state)
{
	struct json_value *answer = answer_to(
		"{'pod':{'metadata':{'name':'p'},'spec':{'containers':[{"
		"'resources':{'requests':{" PAGES("16Gi") "}}}]}},'nodes':["
		PAGE_NODE("taken") "," PAGE_NODE("free") "],'load':{'now':"
		"1000,'nodes':[" PAGE_LOAD("taken", "0") ","
		PAGE_LOAD("free", "20") "]}}");
	const struct json_value *taken = node_called(answer, "taken");

	(void)state;
	assert_string_equal(json_value_text_at(answer, "chosen", ""), "free");
	assert_false(json_value_true(json_value_get(taken, "feasible")));
	assert_string_equal(json_value_text(json_value_first(
				    json_value_get(taken, "reasons"))),
		"node(s) had fewer huge pages free than requested");
	json_value_free(answer);
}

static void an_unsupported_pod_fits_no_node(void **state)
{
	struct json_value *answer = answer_to(
		"{'pod':{'metadata':{'name':'p'},'spec':{'resourceClaims':["
		"{}]}},'nodes':[" NODE("a") "," NODE("b") "]}");

	(void)state;
	assert_true(json_value_is_null(json_value_get(answer, "chosen")));
	assert_string_equal(json_value_text(json_value_first(json_value_get(
				    node_called(answer, "b"), "reasons"))),
		"pod has resource claims, which plimsoll-scheduler does not "
		"support");
	json_value_free(answer);
}

static void requires_only_a_pod(void **state)
{
	struct json_value *answer = answer_to("{" POD "}");

	(void)state;
	assert_int_equal(json_value_count(json_value_get(answer, "nodes")), 0);
	assert_true(json_value_is_null(json_value_get(answer, "chosen")));
	json_value_free(answer);
}

static void names_the_error_in_one_sentence(void **state)
{
	static const struct {
		const char *input, *sentence;
		int code;
	} cases[] = {
		{ "", "invalid JSON at byte 0", -EBADMSG },
		{ "[]", "the input is not an object", -EBADMSG },
		{ "{}", "'pod' is not an object", -EBADMSG },
		{ "{'policy':7}", "'policy' is not a string", -EBADMSG },
		{ "{'policy':'best'}",
			"unknown policy 'best'; known policies: real-load, "
			"kube-scheduler, kube-scheduler-1.21, "
			"target-load-packing, load-variation-risk, "
			"low-risk-overcommit",
			-EINVAL },
		{ "{'policy_args':[]}", "'policy_args' is not an object",
			-EBADMSG },
		{ "{'policy_args':{'x':1}}",
			"policy 'real-load' has no argument 'x'", -EINVAL },
		{ "{" POD ",'nodes':{}}", "'nodes' is not a list", -EBADMSG },
		{ "{" POD ",'pods':7}", "'pods' is not a list", -EBADMSG },
		{ "{" POD ",'vms':7}", "'vms' is not a list", -EBADMSG },
		{ "{" POD ",'vms':[{'seconds':1,'mean_cores':-1}]}",
			"VM 1 of 'vms': 'mean_cores' is -1, not between "
			"0 and 1e+06",
			-ERANGE },
		{ "{" POD ",'objects':7}", "'objects' is not a list",
			-EBADMSG },
		{ "{" POD ",'now':'noon'}",
			"'now': 'noon' is not a time such as "
			"2026-11-20T10:46:52Z",
			-EBADMSG },
		{ "{" POD ",'now':-1}", "'now' is not a time", -EBADMSG },
		{ "{" POD ",'now':{}}", "'now' is not a time", -EBADMSG },
		{ "{" POD ",'load':7}", "load: 'nodes' is not a list",
			-EBADMSG },
		{ "{" POD ",'nodes':[" NODE("a") "," NODE("a") "]}",
			"node 'a' appears twice", -EINVAL },
		{ "{" POD ",'nodes':[{}]}", "a node has no name", -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *json = given_quotes(cases[i].input);
		scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
		struct error err;

		assert_int_equal(score_text(&out, json, strlen(json), &err),
			cases[i].code);
		assert_string_equal(err.text, cases[i].sentence);
		assert_int_equal(out.len, 0);
	}
}

#define SIZED(name, cpu)                                                       \
	"{'metadata':{'name':'" name "'},'status':{'allocatable':{'cpu':'" cpu \
	"','memory':'64Gi','pods':'110'}}}"
#define MEASURED(age, cores, used)                                             \
	"{'name':'odd','age_s':" age ",'cpu':{'cores':" cores                  \
	",'used_cores':" used ",'used_cores_10s':" used                        \
	",'used_cores_5m':" used ",'used_cores_15m':" used "}}"

/* Every score is valid, and a node is chosen. */
static void assert_decided(const char *input, const char *chosen,
	const char *policy)
{
	struct json_value *answer = answer_to(input);
	const struct json_value *list = json_value_get(answer, "nodes");

	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		double score = NAN;

		assert_true(
			json_value_number(&score, json_value_get(v, "score")));
		given_check(score >= 0 && score <= 100, input);
	}
	given_check(json_value_text(json_value_get(answer, "chosen")) != NULL,
		input);
	if (strcmp(policy, "real-load") == 0 &&
		strcmp(json_value_text_at(answer, "chosen", ""), chosen) != 0) {
		fail_msg("%s: not %s", input, chosen);
	}
	json_value_free(answer);
}

/* The other node is 31 % busy. Runs with every policy. */
static void decides_despite_absurd_values(void **state)
{
	static const char *const policies[] = {
		"real-load",
		"kube-scheduler",
		"kube-scheduler-1.21",
		"target-load-packing",
		"load-variation-risk",
		"low-risk-overcommit",
	};
	static const struct {
		const char *node, *load, *chosen;
	} cases[] = {
		/* Below 0 is unknown. Unknown use is not idle; allocatable
		 * cores replace unknown measured cores. */
		{ SIZED("odd", "16"), MEASURED("1", "16", "-5"), "plain" },
		{ SIZED("odd", "16"), MEASURED("1", "-16", "1"), "odd" },
		/* More than all cores. */
		{ SIZED("odd", "16"), MEASURED("1", "16", "32"), "plain" },
		{ SIZED("odd", "16"), MEASURED("1", "16", "1e300"), "plain" },
		/* No capacity: measured, or allocatable. */
		{ SIZED("odd", "16"), MEASURED("1", "0", "0"), "odd" },
		{ SIZED("odd", "16"), MEASURED("1", "0", "16"), "plain" },
		{ SIZED("odd", "0"), MEASURED("1", "16", "0"), "plain" },
		/* More than any machine has. */
		{ SIZED("odd", "1000000"), MEASURED("1", "1e6", "1"), "odd" },
		{ SIZED("odd", "1000000"), MEASURED("1", "1e6", "1e6"),
			"plain" },
		{ SIZED("odd", "16"),
			"{'name':'odd','age_s':1,'cpu':{'cores':16,"
			"'used_cores_10s':1,'used_cores_5m':1,"
			"'stdev_cores_5m':1e300,'contention':7}}",
			"plain" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases) * count_of(policies); i++) {
		const char *policy = policies[i % count_of(policies)];
		size_t c = i / count_of(policies);
		scoped_free char *input = xasprintf(
			"{'policy':'%s'," POD ",'nodes':[%s," SIZED("plain",
				"16") "],'load':{'now':1000,'nodes':[%s," LOAD("plain",
				"1", "5") "]},'now':1000}",
			policy, cases[c].node, cases[c].load);

		assert_decided(input, cases[c].chosen, policy);
	}
}

/* An age below 0 is unknown, and the sample not used. A clock that was set back
 * makes no sample older. */
static void decides_despite_samples_of_the_future(void **state)
{
	static const struct {
		const char *age, *now, *chosen;
	} cases[] = {
		{ "1", "900", "odd" },
		{ "0", "0", "odd" },
		{ "-3600", "1000", "plain" },
		{ "1e300", "1000", "plain" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *input = xasprintf(
			"{" POD ",'nodes':[" SIZED("odd", "16") "," SIZED(
				"plain",
				"16") "],'load':{'now':1000,'nodes':["
				      "{'name':'odd','age_s':%s,'cpu':{"
				      "'cores':16,'used_cores_10s':1}}," LOAD(
					      "plain", "1", "5") "]},'now':%s}",
			cases[i].age, cases[i].now);

		assert_decided(input, cases[i].chosen, "real-load");
	}
}

static void refuses_values_that_are_not_numbers(void **state)
{
	static const char *const numbers[] = { "NaN", "-NaN", "Infinity", "'5'",
		"true", "[]" };

	(void)state;
	for (size_t i = 0; i < count_of(numbers); i++) {
		scoped_free char *input = xasprintf(
			"{" POD ",'nodes':[" NODE(
				"a") "],'load':{'now':1000,'nodes':[{'name':"
				     "'a','age_s':1,'cpu':{'cores':16,"
				     "'used_cores_10s':%s}}]}}",
			numbers[i]);
		scoped_free char *json = given_quotes(input);
		scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
		struct error err;

		assert_int_equal(score_text(&out, json, strlen(json), &err),
			-EBADMSG);
		assert_int_equal(out.len, 0);
	}
}

enum { FLEET = 5000 };

/* The other nodes have no load, so the idle one with a load is best. */
static void finds_the_one_known_node_among_thousands(void **state)
{
	scoped_buffer struct buffer input = BUFFER_MAX(8 << 20);

	(void)state;
	buffer_text(&input, "{" POD ",'nodes':[");
	for (int i = 0; i < FLEET; i++) {
		buffer_printf(&input,
			"%s{'metadata':{'name':'n%04d'},'status':{"
			"'allocatable':{'cpu':'16','memory':'64Gi',"
			"'pods':'110'}}}",
			i > 0 ? "," : "", i);
	}
	buffer_text(&input,
		"],'load':{'now':1000,'nodes':[" LOAD("n4321", "1",
			"0.5") "]}}");
	assert_decided(input.data, "n4321", "real-load");
}

static void reads_files_and_prints_a_line(void **state)
{
	char name[] = "/tmp/plimsoll-score-XXXXXX";
	static const char input[] = "{\"pod\":{\"metadata\":{\"name\":\"p\"}}}";
	scoped_fd int fd = mkstemp(name);
	FILE *out = tmpfile();
	char line[256];
	struct error err;

	(void)state;
	assert_true(fd >= 0 && out != NULL);
	assert_int_equal(write(fd, input, sizeof(input) - 1),
		(ssize_t)sizeof(input) - 1);
	assert_int_equal(score_command(name, out, &err), 0);
	rewind(out);
	assert_non_null(fgets(line, sizeof(line), out));
	assert_string_equal(line,
		"{\"nodes\":[],\"chosen\":null,\"message\":\"no nodes "
		"available to schedule pods\"}\n");
	assert_int_equal(unlink(name), 0);
	assert_int_equal(score_command(name, out, &err), -ENOENT);
	assert_int_equal(fclose(out), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		golden_test(scores_by_the_vms_profile, NULL, golden_end),
		golden_test(chooses_the_node_with_less_load, NULL, golden_end),
		golden_test(ages_the_load_up_to_now, NULL, golden_end),
		golden_test(counts_pods_that_are_not_terminated, NULL,
			golden_end),
		golden_test(charges_vms_that_were_just_bound, NULL, golden_end),
		golden_test(explains_why_no_node_fits, NULL, golden_end),
		golden_test(avoids_huge_pages_that_others_hold, NULL,
			golden_end),
		golden_test(an_unsupported_pod_fits_no_node, NULL, golden_end),
		golden_test(requires_only_a_pod, NULL, golden_end),
		golden_test(names_the_error_in_one_sentence, NULL, golden_end),
		golden_test(decides_despite_absurd_values, NULL, golden_end),
		golden_test(decides_despite_samples_of_the_future, NULL,
			golden_end),
		golden_test(refuses_values_that_are_not_numbers, NULL,
			golden_end),
		golden_test(finds_the_one_known_node_among_thousands, NULL,
			golden_end),
		golden_test(reads_files_and_prints_a_line, NULL, golden_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
