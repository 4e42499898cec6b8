#include "scheduler/offline/plan_cmd.h"

#include <errno.h>
#include <math.h>

#include "scheduler/cache/cache.h"
#include "tests/support/golden.h"
#include "tests/unit/scheduler/given.h"

#define NODE(name, memory)                                                     \
	"{'metadata':{'name':'" name                                           \
	"','labels':{'kubevirt.io/"                                            \
	"schedulable':'true'}},'status':{'allocatable':{'cpu':'16',"           \
	"'memory':'" memory "','pods':'110'}}}"
#define VM(name, node, memory, rest)                                           \
	"{'metadata':{'name':'virt-launcher-" name                             \
	"','namespace':'vms',"                                                 \
	"'uid':'pod-" name                                                     \
	"','labels':{'kubevirt.io':'virt-launcher',"                           \
	"'kubevirt.io/created-by':'vmi-" name                                  \
	"'},'annotations':{'kubevirt.io/domain':'" name "'}" rest              \
	"},'spec':{'schedulerName':'plimsoll-scheduler','nodeName':'" node     \
	"','containers':[{'name':'compute','resources':{'requests':{"          \
	"'cpu':'400m','memory':'" memory                                       \
	"'}}}]},'status':{'phase':"                                            \
	"'Running'}}"
#define VMI(name, node, rest)                                                  \
	"{'metadata':{'name':'" name "','namespace':'vms','uid':'vmi-" name    \
	"'" rest "},'status':{'phase':'Running','nodeName':'" node             \
	"','conditions':[{'type':'LiveMigratable','status':'True'}]}}"
#define NEVER ",'annotations':{'plimsoll.io/move':'never'}"
#define URGENT(memory)                                                         \
	"'pod':{'metadata':{'name':'urgent','namespace':'vms','uid':'u'},"     \
	"'spec':{'priority':1000,'containers':[{'name':'compute',"             \
	"'resources':{'requests':{'memory':'" memory "'}}}]}}"

/* The third node is too small for the urgent pod. It alone has room for the VM
 * of the first; none has room for that of the second. */
#define NODES                                                                  \
	"'nodes':[" NODE("a", "32Gi") "," NODE("b", "32Gi") "," NODE("c",      \
		"16Gi") "]"
#define PODS                                                                   \
	"'pods':[" VM("vm-1", "a", "12Gi", "") "," VM("vm-2", "b", "22Gi",     \
		"") "]"

static struct plan_question question_of(const char *goal)
{
	struct plan_question question = {
		.goal_text = goal,
		.max_moves = 3,
		.max_load = PLAN_LOAD_MAX,
		.scheduler_name = "plimsoll-scheduler",
	};

	assert_int_equal(goal_words_parse(&question.goal, goal, NULL), 0);
	return question;
}

static struct json_value *answer_to(const char *goal, const char *input)
{
	const struct plan_question question = question_of(goal);
	scoped_free char *json = given_quotes(input);
	scoped_buffer struct buffer out = BUFFER_MAX(8 << 20);
	struct json_value *answer = NULL;
	struct error err;

	if (plan_text(&out, &question, json, strlen(json), &err) < 0) {
		fail_msg("%s", err.text);
	}
	golden_tell("%s", out.data);
	assert_int_equal(json_value_parse(&answer, out.data, out.len, NULL), 0);
	assert_string_equal(json_value_text_at(answer, "goal", ""), goal);
	return answer;
}

/* "move vms/vm-1 a>c; " for each step, and "node=a" for a pod's node. */
static char *summary(const struct json_value *answer)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 16);

	buffer_text(&out, "");
	for (const struct json_value *v =
			json_value_first(json_value_get(answer, "steps"));
		v != NULL; v = json_value_next(v)) {
		buffer_printf(&out, "%s %s/%s %s>%s; ",
			json_value_text_at(v, "kind", "?"),
			json_value_text_at(v, "namespace", "?"),
			json_value_text_at(v, "vm", "?"),
			json_value_text_at(v, "source", "?"),
			json_value_text_at(v, "target", "?"));
	}
	buffer_printf(&out, "node=%s", json_value_text_at(answer, "node", "-"));
	return xstrdup(out.data);
}

/* expected: of summary(); NULL: there is no plan. */
static void assert_plan(const char *goal, const char *input,
	const char *expected)
{
	struct json_value *answer = answer_to(goal, input);
	scoped_free char *text = summary(answer);
	bool is_found = json_value_true(json_value_get(answer, "found"));

	if (is_found != (expected != NULL) ||
		(is_found && strcmp(text, expected) != 0)) {
		fail_msg("%s: %s (%s)", goal, text,
			json_value_text_at(answer, "message", ""));
	}
	assert_true(*json_value_text_at(answer, "message", "") != '\0');
	json_value_free(answer);
}

static void a_vm_moves_out_of_the_pods_way(void **state)
{
	(void)state;
	assert_plan("pod", "{" URGENT("24Gi") "," NODES "," PODS "}",
		"move vms/vm-1 a>c; node=a");
	assert_plan("pod", "{" URGENT("10Gi") "," NODES "," PODS "}", "node=a");
	assert_plan("pod", "{" URGENT("40Gi") "," NODES "," PODS "}", NULL);
}

static void a_node_is_emptied(void **state)
{
	(void)state;
	assert_plan("empty:c", "{" NODES "," PODS "}", "node=-");
	assert_plan("empty:a",
		"{'nodes':[" NODE("a", "32Gi") "," NODE("b", "32Gi") "],'pods':"
		"[" VM("vm-1", "a", "12Gi", "") "]}",
		"move vms/vm-1 a>b; node=-");
}

static void a_vm_runs_elsewhere(void **state)
{
	(void)state;
	assert_plan("move:vms/vm-1",
		"{'nodes':[" NODE("a", "32Gi") "," NODE("b", "32Gi") "],'pods':"
		"[" VM("vm-1", "a", "12Gi", "") "," VM("vm-2", "a", "12Gi",
			"") "]}",
		"move vms/vm-1 a>b; node=-");
}

static void vms_of_nodes_that_are_gone_start_elsewhere(void **state)
{
	(void)state;
	assert_plan("gone:a",
		"{'nodes':[" NODE("a", "32Gi") "," NODE("b", "32Gi") "],'pods':"
		"[" VM("vm-1", "a", "12Gi", "") "]}",
		"start vms/vm-1 a>b; node=-");
	assert_plan("gone:a,b", "{" NODES "," PODS "}", NULL);
}

/* The node a. why: a part of the sentence, if there is no plan; else NULL. */
static void assert_emptied(const char *input, const char *why)
{
	struct json_value *answer = answer_to("empty:a", input);
	const char *message = json_value_text_at(answer, "message", "");

	assert_int_equal(json_value_true(json_value_get(answer, "found")),
		why == NULL);
	given_check(why == NULL || strstr(message, why) != NULL, message);
	json_value_free(answer);
}

static void with_vmis_a_vm_moves_if_it_may(void **state)
{
#define ONLY_VM_1(vmis)                                                        \
	"{'nodes':[" NODE("a", "32Gi") "," NODE("b", "32Gi") "],'pods':[" VM(  \
		"vm-1", "a", "12Gi", "") "],'vmis':" vmis "}"
	static const struct {
		const char *vmis, *why; /* why NULL: it moves */
	} cases[] = {
		{ "[" VMI("vm-1", "a", "") "]", NULL },
		{ "{'kind':'List','items':[" VMI("vm-1", "a", "") "]}", NULL },
		{ "[" VMI("vm-1", "a", NEVER) "]", "annotation" },
		{ "[]", "unknown to KubeVirt" },
		{ "[" VMI("vm-1", "b", "") "]", "runs on another node" },
		{ "[{'metadata':{'name':'vm-1','namespace':'vms','uid':"
		  "'vmi-vm-1'},'status':{'phase':'Running','nodeName':'a',"
		  "'conditions':[{'type':'LiveMigratable','status':'False',"
		  "'message':'host disk'}]}}]",
			"host disk" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *input =
			xasprintf(ONLY_VM_1("%s"), cases[i].vmis);

		assert_emptied(input, cases[i].why);
	}
}

static void a_vm_of_another_scheduler_stays_if_there_are_vmis(void **state)
{
	static const char input[] = ONLY_VM_1("[" VMI("vm-1", "a", "") "]");
	scoped_free char *json = given_quotes(input);
	struct plan_question question = question_of("empty:a");
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
	scoped_buffer struct buffer without = BUFFER_MAX(1 << 20);
	scoped_free char *no_vmis =
		given_quotes("{'nodes':[" NODE("a", "32Gi") "," NODE("b",
			"32Gi") "],'pods':[" VM("vm-1", "a", "12Gi", "") "]}");

	(void)state;
	question.scheduler_name = "other";
	assert_int_equal(plan_text(&out, &question, json, strlen(json), NULL),
		0);
	assert_non_null(strstr(out.data, "\"found\":false"));
	assert_non_null(strstr(out.data, "is placed by another scheduler"));
	assert_int_equal(
		plan_text(&without, &question, no_vmis, strlen(no_vmis), NULL),
		0);
	assert_non_null(strstr(without.data, "\"found\":true"));
}

static void a_question_may_limit_the_work(void **state)
{
	static const char input[] = "{" URGENT("24Gi") "," NODES "," PODS "}";
	struct plan_question question = question_of("pod");
	scoped_free char *json = given_quotes(input);
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);

	(void)state;
	assert_plan("pod", input, "move vms/vm-1 a>c; node=a");
	question.max_work = 1;
	assert_int_equal(plan_text(&out, &question, json, strlen(json), NULL),
		0);
	assert_non_null(strstr(out.data, "\"found\":false"));
	assert_non_null(strstr(out.data, "\"cut_off\":true"));
}

#define MOVING(vmis, phase, target)                                            \
	"{" URGENT("24Gi") ",'nodes':[" NODE("a", "32Gi") "," NODE("b",        \
		"16Gi") "],'pods':[" VM("vm-1", "a", "12Gi",                   \
		"") "]" vmis                                                   \
		    ",'migrations':[{'metadata':{'name':'theirs',"             \
		    "'namespace':'vms','uid':'m'},'spec':{'vmiName':'vm-1'},"  \
		    "'status':{'phase':'" phase                                \
		    "','migrationState':{"                                     \
		    "'sourceNode':'a','targetNode':'" target "'}}}]}"
#define ITS_VMI ",'vmis':[" VMI("vm-1", "a", "") "]"

static void a_vm_that_is_being_migrated_leaves_its_node_anyway(void **state)
{
	static const char *const inputs[] = {
		MOVING(ITS_VMI, "Running", "b"),
		MOVING("", "Running", "b"),
	};

	(void)state;
	for (size_t i = 0; i < count_of(inputs); i++) {
		struct json_value *answer =
			answer_to("move:vms/vm-1", inputs[i]);

		assert_true(json_value_true(json_value_get(answer, "found")));
		assert_string_equal(json_value_text_at(answer, "message", ""),
			"vms/vm-1 leaves a already");
		json_value_free(answer);
		assert_plan("empty:a", inputs[i], "node=-");
	}
	assert_plan("empty:a", MOVING(ITS_VMI, "Succeeded", "b"),
		"move vms/vm-1 a>b; node=-");
}

static void a_migration_without_target_frees_no_room(void **state)
{
	static const char *const inputs[] = {
		MOVING(ITS_VMI, "Pending", ""),
		MOVING("", "Pending", ""),
	};

	(void)state;
	for (size_t i = 0; i < count_of(inputs); i++) {
		struct json_value *answer = answer_to("empty:a", inputs[i]);

		assert_false(json_value_true(json_value_get(answer, "found")));
		assert_non_null(
			strstr(json_value_text_at(answer, "message", ""),
				"is being migrated"));
		json_value_free(answer);
		assert_plan("pod", inputs[i], NULL);
	}
}

/* The target comes first, and its node is excluded. */
static void the_target_pod_of_a_migration_is_no_vm_that_runs(void **state)
{
	(void)state;
	assert_plan("move:vms/vm-1",
		"{'nodes':[" NODE("a", "32Gi") "," NODE("b", "32Gi") "," NODE(
			"c", "32Gi") "],'pods':[{'metadata':{'name':'target',"
		"'namespace':'vms','uid':'t','labels':{'kubevirt.io':"
		"'virt-launcher','kubevirt.io/created-by':'vmi-vm-1',"
		"'kubevirt.io/migrationJobUID':'m'},'annotations':{"
		"'kubevirt.io/domain':'vm-1'}},'spec':{'nodeName':'b'}},"
		VM("vm-1", "a", "12Gi", "") "]}",
		"move vms/vm-1 a>c; node=-");
}

static void lists_may_be_as_kubectl_prints_them(void **state)
{
	(void)state;
	assert_plan("pod",
		"{" URGENT("24Gi") ",'nodes':{'kind':'List','items':["
		NODE("a", "32Gi") "," NODE("b", "32Gi") "," NODE("c",
			"16Gi") "]},'pods':{'kind':'List','items':["
		VM("vm-1", "a", "12Gi", "") "," VM("vm-2", "b", "22Gi",
			"") "]},'objects':{'kind':'List','items':[]},"
		"'migrations':{'kind':'List','items':[]}}",
		"move vms/vm-1 a>c; node=a");
}

#define CPU(name, used)                                                        \
	"{'name':'" name "','age_s':1,'cpu':{'cores':16,'used_cores':" used    \
	",'used_cores_10s':" used ",'used_cores_5m':" used                     \
	"},'memory':{'available_bytes':34359738368}}"

/* c is the only node with room, and too busy. */
static void a_busy_node_is_no_target(void **state)
{
	static const char *const inputs[] = {
		"{" URGENT("24Gi") "," NODES "," PODS
				   ",'load':{'now':1000,'nodes':[" CPU("a",
					   "2") "," CPU("b", "2") "," CPU("c",
					   "2") "]}}",
		"{" URGENT("24Gi") "," NODES "," PODS
				   ",'load':{'now':1000,'nodes':[" CPU("a",
					   "2") "," CPU("b", "2") "," CPU("c",
					   "15.5") "]}}",
	};
	struct json_value *answer = answer_to("pod", inputs[0]);
	const struct json_value *step =
		json_value_first(json_value_get(answer, "steps"));
	double before = NAN, after = NAN;

	(void)state;
	assert_true(json_value_number(&before,
		json_value_get(step, "target_load_before")));
	assert_true(json_value_number(&after,
		json_value_get(step, "target_load_after")));
	assert_true(before > 0.05 && before < after && after < 0.5);
	json_value_free(answer);
	assert_plan("pod", inputs[1], NULL);
}

/* c is the only node with room. */
static void a_node_is_excluded_as_for_the_mover(void **state)
{
#define LOADS(c)                                                               \
	",'load':{'now':1000,'nodes':[" CPU("a", "2") "," CPU("b", "2") c      \
		"]}"                                                           \
		"}"
	static const char head[] = "{" URGENT("24Gi") "," NODES "," PODS;
	static const struct {
		const char *rest;
		bool takes_part;
	} cases[] = {
		{ LOADS("," CPU("c", "2")), true },
		{ LOADS(""), false },
		{ ",'migrations':[{'metadata':{'name':'m','namespace':'vms',"
		  "'uid':'m'},'spec':{'vmiName':'x'},'status':{'phase':"
		  "'Running','migrationState':{'sourceNode':'x',"
		  "'targetNode':'c'}}}]}",
			false },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *input =
			xasprintf("%s%s", head, cases[i].rest);

		assert_plan("pod", input,
			cases[i].takes_part ? "move vms/vm-1 a>c; node=a"
					    : NULL);
	}
}

static void a_load_that_is_unknown_is_left_out(void **state)
{
	struct json_value *answer =
		answer_to("pod", "{" URGENT("24Gi") "," NODES "," PODS "}");
	const struct json_value *step =
		json_value_first(json_value_get(answer, "steps"));

	(void)state;
	assert_non_null(json_value_get(step, "target"));
	assert_null(json_value_get(step, "target_load_before"));
	json_value_free(answer);
}

static void names_the_error_in_one_sentence(void **state)
{
	static const struct {
		const char *goal, *input, *sentence;
		int code;
	} cases[] = {
		{ "pod", "", "invalid JSON at byte 0", -EBADMSG },
		{ "pod", "[]", "the input is not an object", -EBADMSG },
		{ "pod", "{" NODES "}", "'pod' is not an object", -EBADMSG },
		{ "pod",
			"{'pod':{'metadata':{'name':'p'},'spec':{'nodeName':"
			"'a'}}," NODES "}",
			"'pod' is on node 'a'", -EINVAL },
		{ "empty:x", "{" NODES "}", "there is no node 'x'", -ENOENT },
		{ "gone:a,x", "{" NODES "}", "there is no node 'x'", -ENOENT },
		{ "gone:a,a", "{" NODES "}", "the goal names node 'a' twice",
			-EINVAL },
		{ "move:vms/vm-3", "{" NODES "," PODS "}",
			"no VM 'vms/vm-3' runs on any node", -ENOENT },
		{ "empty:a", "{'nodes':{}}", "'nodes' is not a list",
			-EBADMSG },
		{ "empty:a", "{" NODES ",'vmis':7}", "'vmis' is not a list",
			-EBADMSG },
		{ "empty:a", "{" NODES ",'vmis':[{}]}",
			"VMI 1 of 'vmis': a VMI has no name or no uid",
			-EBADMSG },
		{ "empty:a", "{" NODES ",'migrations':{'items':7}}",
			"'migrations' is not a list", -EBADMSG },
		{ "empty:a", "{" NODES ",'migrations':[{}]}",
			"migration 1 of 'migrations': a migration has no name, "
			"no uid or "
			"no VMI",
			-EBADMSG },
		{ "empty:a",
			"{" NODES ",'pods':[{'metadata':{'name':'p','namespace'"
			":'vms','labels':{'kubevirt.io':'virt-launcher'}},"
			"'spec':{'nodeName':'a'}}]}",
			"pod 'vms/p' has no uid of its own", -EBADMSG },
		{ "empty:a",
			"{" NODES ",'pods':[" VM("vm-1", "a", "1Gi", "") "," VM(
				"vm-1", "b", "1Gi", "") "]}",
			"pod 'vms/virt-launcher-vm-1' has no uid of its own",
			-EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		const struct plan_question question =
			question_of(cases[i].goal);
		scoped_free char *json = given_quotes(cases[i].input);
		scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
		struct error err = { 0 };

		assert_int_equal(
			plan_text(&out, &question, json, strlen(json), &err),
			cases[i].code);
		assert_string_equal(err.text, cases[i].sentence);
		assert_int_equal(out.len, 0);
	}
}

/* ---- the same answer as over the scheduler's cache ---- */

#define SAME                                                                   \
	"{" URGENT("24Gi") ",'now':1000,'nodes':[" NODE("a", "32Gi") ","       \
	NODE("b", "32Gi") "," NODE("c", "16Gi") "," NODE("d", "13Gi") "],"     \
	"'pods':[" VM("vm-1", "a", "8Gi", "") "," VM("vm-2", "a", "5Gi",       \
		"") "," VM("vm-3", "b", "20Gi", "") "," VM("vm-4", "c", "9Gi", \
		"") "," VM("vm-5", "d", "1Gi", "") "],'load':{'now':1000,"     \
	"'nodes':[" CPU("a", "3") "," CPU("b", "9") "," CPU("c", "5") ","      \
	CPU("d", "7") "]}}"

enum { SAME_VMS = 5 };

static const int64_t now_us = 1000000000;

static size_t index_of(const struct cluster *cluster, const char *name)
{
	size_t i = 0;

	while (strcmp(cluster->nodes[i]->name, name) != 0) {
		i++;
	}
	return i;
}

/* All pods are VMs, which need no VMI here. */
static void fill_cache(struct cache *cache, struct plan_vm *vms,
	const struct json_value *input)
{
	bool changed = false;
	size_t count = 0;

	for (const struct json_value *v =
			json_value_first(json_value_get(input, "nodes"));
		v != NULL; v = json_value_next(v)) {
		assert_int_equal(
			cache_put_node(cache, &changed, v, now_us, NULL), 0);
	}
	for (const struct json_value *v =
			json_value_first(json_value_get(input, "pods"));
		v != NULL; v = json_value_next(v)) {
		struct pod *pod = NULL;

		assert_int_equal(pod_new(&pod, cache->interner, v,
					 POD_UNSCHEDULED, NULL),
			0);
		vms[count++] = (struct plan_vm){ .pod = pod,
			.node = index_of(&cache->cluster, pod->node_name) };
		cache_put_pod(cache, pod, pod->bound_wall_us);
	}
	cache_set_complete(cache);
	assert_int_equal(count, SAME_VMS);
}

static void load_cache(struct cache *cache, const struct json_value *input)
{
	struct load_answer load = { 0 };

	assert_int_equal(
		load_answer_read(&load, json_value_get(input, "load"), NULL),
		0);
	for (size_t i = 0; i < load.count; i++) {
		bool changed = false;

		cache_put_load(cache, &changed, &load.nodes[i],
			now_us - (int64_t)load.nodes[i].age_us, now_us);
	}
	load_answer_fini(&load);
}

static char *plan_over_cache(struct cache *cache, const struct plan_vm *vms,
	struct pod *urgent)
{
	static const struct filter_options filter = FILTER_DEFAULTS;
	const struct plan_input input = {
		.cluster = &cache->cluster,
		.filter = &filter,
		.vms = vms,
		.vm_count = SAME_VMS,
		.now_us = now_us,
		.max_moves = 3,
		.max_load = PLAN_LOAD_MAX,
	};
	const struct plan_goal goal = { .kind = PLAN_POD_FITS, .pod = urgent };
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 16);
	struct node **nodes = cache->cluster.nodes;
	struct plan plan = { 0 };

	plan_find(&plan, &input, &goal);
	assert_true(plan.is_found && plan.moves > 0);
	for (size_t i = 0; i < plan.count; i++) {
		const struct plan_step *step = &plan.steps[i];

		buffer_printf(&out, "move %s/%s %s>%s; ", step->pod->namespace,
			step->pod->vm_name, nodes[step->source]->name,
			nodes[step->target]->name);
	}
	buffer_printf(&out, "node=%s", nodes[plan.node]->name);
	plan_fini(&plan);
	return xstrdup(out.data);
}

static void gives_the_plan_that_is_found_over_the_cache(void **state)
{
	struct json_value *input = given_json(SAME);
	struct json_value *answer = answer_to("pod", SAME);
	scoped_free char *ours = summary(answer);
	scoped_free char *theirs = NULL;
	struct plan_vm vms[SAME_VMS];
	struct cache cache;
	struct pod *urgent = NULL;

	(void)state;
	cache_init(&cache);
	fill_cache(&cache, vms, input);
	load_cache(&cache, input);
	assert_int_equal(
		pod_new(&urgent, cache.interner, json_value_get(input, "pod"),
			POD_UNSCHEDULED, NULL),
		0);
	theirs = plan_over_cache(&cache, vms, urgent);
	assert_string_equal(ours, theirs);
	pod_free(urgent);
	cache_fini(&cache);
	json_value_free(input);
	json_value_free(answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		golden_test(a_vm_moves_out_of_the_pods_way, NULL, golden_end),
		golden_test(a_node_is_emptied, NULL, golden_end),
		golden_test(a_vm_runs_elsewhere, NULL, golden_end),
		golden_test(vms_of_nodes_that_are_gone_start_elsewhere, NULL,
			golden_end),
		golden_test(with_vmis_a_vm_moves_if_it_may, NULL, golden_end),
		golden_test(a_vm_of_another_scheduler_stays_if_there_are_vmis,
			NULL, golden_end),
		golden_test(a_vm_that_is_being_migrated_leaves_its_node_anyway,
			NULL, golden_end),
		golden_test(a_question_may_limit_the_work, NULL, golden_end),
		golden_test(a_migration_without_target_frees_no_room, NULL,
			golden_end),
		golden_test(the_target_pod_of_a_migration_is_no_vm_that_runs,
			NULL, golden_end),
		golden_test(lists_may_be_as_kubectl_prints_them, NULL,
			golden_end),
		golden_test(a_busy_node_is_no_target, NULL, golden_end),
		golden_test(a_node_is_excluded_as_for_the_mover, NULL,
			golden_end),
		golden_test(a_load_that_is_unknown_is_left_out, NULL,
			golden_end),
		golden_test(names_the_error_in_one_sentence, NULL, golden_end),
		golden_test(gives_the_plan_that_is_found_over_the_cache, NULL,
			golden_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
