#include "scheduler/extender.h"

#include <errno.h>

#include "scheduler/score/decide.h"

#include "tests/unit/scheduler/given.h"

#define NOW INT64_C(1000000000)
#define GIB (1024.0 * 1024 * 1024)

#define POD                                                                    \
	"'Pod':{'metadata':{'name':'p','namespace':'ns','uid':'u','labels':{"  \
	"'kubevirt.io':'virt-launcher'}},'spec':{'containers':[{'name':"       \
	"'compute','resources':{'requests':{'cpu':'200m','memory':'4Gi',"      \
	"'devices.kubevirt.io/kvm':'1'}}}]}}"

struct scene {
	struct cache cache;
	struct extender_view view;
	enum extender_outcome outcome;
	struct buffer out;
	struct error err;
};

static void scene_init(struct scene *scene)
{
	*scene = (struct scene){ .out = BUFFER_MAX(1 << 16) };
	cache_init(&scene->cache);
	scene->view = (struct extender_view){
		.cache = &scene->cache,
		.is_synced = true,
		.now_us = NOW,
	};
}

static void scene_fini(struct scene *scene)
{
	cache_fini(&scene->cache);
	buffer_fini(&scene->out);
}

/* used_cores below 0: no load. */
static void add_node(struct scene *scene, const char *name, double used_cores,
	double used_bytes, enum kvm_state kvm)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s'},'status':{'allocatable':{'cpu':"
		"'16','memory':'64Gi','pods':'99'}}}",
		name);
	struct json_value *object = given_json(json);
	struct node_load load = given_load(used_cores, used_bytes);
	bool changed;

	assert_int_equal(cache_put_node(&scene->cache, &changed, object, NOW,
				 &scene->err),
		0);
	json_value_free(object);
	if (used_cores >= 0) {
		load.name = xstrdup(name);
		load.kvm_state = kvm;
		cache_put_load(&scene->cache, &changed, &load, NOW, NOW);
		node_load_fini(&load);
	}
}

/* text has single quotes. */
static int ask(struct scene *scene, enum extender_verb verb, const char *text)
{
	scoped_free char *json = given_quotes(text);

	buffer_clear(&scene->out);
	return extender_answer(&scene->out, &scene->outcome, &scene->view,
		&(struct extender_request){ verb, json, strlen(json) },
		&scene->err);
}

static void assert_answer(struct scene *scene, enum extender_verb verb,
	const char *interner, const char *expected)
{
	scoped_free char *text =
		xasprintf("{" POD ",'NodeNames':%s}", interner);
	scoped_free char *json = given_quotes(expected);

	assert_int_equal(ask(scene, verb, text), 0);
	assert_string_equal(scene->out.data, json);
}

static void filters_by_kvm_state_and_available_memory(void **state)
{
	struct scene scene;
	(void)state;

	scene_init(&scene);
	add_node(&scene, "good", 2, 0, KVM_OK);
	add_node(&scene, "broken", 2, 0, KVM_MISSING);
	add_node(&scene, "full", 2, 62 * GIB, KVM_OK);
	add_node(&scene, "silent", -1, 0, KVM_OK);
	assert_answer(&scene, EXTENDER_FILTER,
		"['full','good','broken','silent','new']",
		"{'NodeNames':['good','silent','new'],'FailedNodes':{'full':"
		"'node(s) had less memory available than requested'},"
		"'FailedAndUnresolvableNodes':{'broken':'node(s) cannot start "
		"VMs: KVM missing'},'Error':''}");
	assert_int_equal(scene.outcome, EXTENDER_JUDGED);
	scene_fini(&scene);
}

static void the_best_node_gets_10_and_others_1_less_per_5_points(void **state)
{
	struct scene scene;
	struct score_context context;
	struct pod *pod;
	double best, busy;
	scoped_free char *expected = NULL;
	(void)state;

	scene_init(&scene);
	add_node(&scene, "idle", 1, 0, KVM_OK);
	add_node(&scene, "busy", 15.9, 0, KVM_OK);
	pod = given_vm(scene.cache.interner, "a", 2);
	decide_context(&context, pod, &scene.cache.cluster, NULL, NOW);
	best = score_total(cache_node(&scene.cache, "idle"), &context);
	busy = score_total(cache_node(&scene.cache, "busy"), &context);
	pod_free(pod);
	assert_true(best - busy > 2 * EXTENDER_STEP);
	expected = xasprintf(
		"[{'Host':'busy','Score':%.0f},{'Host':'new','Score':0},"
		"{'Host':'idle','Score':10}]",
		10 - (best - busy) / EXTENDER_STEP);
	assert_answer(&scene, EXTENDER_PRIORITIZE, "['busy','new','idle']",
		expected);
	assert_int_equal(scene.outcome, EXTENDER_JUDGED);
	scene_fini(&scene);
}

static void without_data_all_nodes_pass_and_are_equal(void **state)
{
	struct scene scene;
	(void)state;

	scene_init(&scene);
	add_node(&scene, "a", -1, 0, KVM_OK);
	add_node(&scene, "b", -1, 0, KVM_OK);
	assert_answer(&scene, EXTENDER_PRIORITIZE, "['a','b']",
		"[{'Host':'a','Score':0},{'Host':'b','Score':0}]");
	assert_int_equal(scene.outcome, EXTENDER_NO_OPINION);
	assert_answer(&scene, EXTENDER_FILTER, "['a','b']",
		"{'NodeNames':['a','b'],'FailedNodes':{},"
		"'FailedAndUnresolvableNodes':{},'Error':''}");
	assert_int_equal(scene.outcome, EXTENDER_NO_OPINION);
	scene_fini(&scene);
}

static void has_no_opinion_before_the_caches_are_synced(void **state)
{
	struct scene scene;
	(void)state;

	scene_init(&scene);
	add_node(&scene, "broken", 2, 0, KVM_MISSING);
	add_node(&scene, "good", 2, 0, KVM_OK);
	scene.view.is_synced = false;
	assert_answer(&scene, EXTENDER_FILTER, "['broken']",
		"{'NodeNames':['broken'],'FailedNodes':{},"
		"'FailedAndUnresolvableNodes':{},'Error':''}");
	assert_answer(&scene, EXTENDER_PRIORITIZE, "['broken','good']",
		"[{'Host':'broken','Score':0},{'Host':'good','Score':0}]");
	scene_fini(&scene);
}

static void accepts_an_empty_list_of_nodes(void **state)
{
	struct scene scene;
	(void)state;

	scene_init(&scene);
	assert_answer(&scene, EXTENDER_PRIORITIZE, "[]", "[]");
	scene_fini(&scene);
}

static void refuses_more_values_than_a_request_can_have(void **state)
{
	scoped_free char *text = xcalloc(JSON_VALUES_MAX + 1, 1);
	struct scene scene;

	(void)state;
	scene_init(&scene);
	memset(text, ',', JSON_VALUES_MAX);
	assert_int_equal(ask(&scene, EXTENDER_FILTER, text), -E2BIG);
	assert_int_equal(scene.outcome, EXTENDER_REFUSED);
	assert_string_equal(scene.err.text, "more than 100000 JSON values");
	scene_fini(&scene);
}

static void refuses_an_invalid_request_with_a_reason(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "JSON" },
		{ "{", "JSON" },
		{ "[]", "NodeNames" },
		{ "{" POD "}", "nodeCacheCapable" },
		{ "{" POD ",'NodeNames':null,'Nodes':{'items':[]}}",
			"nodeCacheCapable" },
		{ "{" POD ",'NodeNames':['a',7]}", "not a string" },
		{ "{'NodeNames':['a']}", "'Pod' is not an object" },
		{ "{'Pod':{},'NodeNames':['a']}", "name" },
		{ "{'Pod':{'metadata':{'name':'p','namespace':'n','uid':'u'},"
		  "'spec':{'containers':[{'resources':{'requests':{'cpu':"
		  "'many'}}}]}},'NodeNames':['a']}",
			"many" },
	};
	struct scene scene;
	(void)state;

	scene_init(&scene);
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_int_equal(ask(&scene, EXTENDER_FILTER, cases[i].text),
			-EBADMSG);
		assert_int_equal(scene.outcome, EXTENDER_REFUSED);
		given_check(strstr(scene.err.text, cases[i].why) != NULL,
			scene.err.text);
		assert_int_equal(scene.out.len, 0);
	}
	scene_fini(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_by_kvm_state_and_available_memory),
		cmocka_unit_test(
			the_best_node_gets_10_and_others_1_less_per_5_points),
		cmocka_unit_test(without_data_all_nodes_pass_and_are_equal),
		cmocka_unit_test(has_no_opinion_before_the_caches_are_synced),
		cmocka_unit_test(accepts_an_empty_list_of_nodes),
		cmocka_unit_test(refuses_more_values_than_a_request_can_have),
		cmocka_unit_test(refuses_an_invalid_request_with_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
