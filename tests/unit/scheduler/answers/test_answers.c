/* Questions and their answers, with stand-ins for the aggregators, the planner
 * and KubeVirt. */
#include "scheduler/answers/answers.h"

#include "lib/clock.h"
#include "lib/loop.h"
#include "scheduler/answers/outlooks.h"
#include "scheduler/cache/queue.h"
#include "scheduler/cache/reservations.h"
#include "scheduler/kubevirt/kubevirt.h"
#include "scheduler/loads/profile_client.h"
#include "scheduler/loads/question_client.h"
#include "scheduler/mover/reach.h"
#include "scheduler/planner/planner.h"
#include "tests/support/fake_timers.h"
#include "tests/support/golden.h"
#include "tests/unit/scheduler/plan/plan_world.h"
#include "tests/unit/scheduler/mover/fake_next_pod.h"

#include <stdio.h>

static struct scene {
	struct cache cache;
	struct queue queue;
	struct reservations reservations;
	struct answers_options options;
	struct answers *answers;
	struct world world; /* what the planner's thread sees */
	struct question_listener listener;
	struct planner_job job; /* that waits or runs */
	bool has_job, refuses, is_synced, leads, is_watching;
	const struct vmi *vmi; /* the only one; NULL: none */
	const char *why_not;   /* it may not be moved; NULL: it may */
	/* Asked for the room; NULL: nobody. */
	void (*room)(void *owner, int status, const struct buffer *body);
	void *room_owner;
	unsigned cancelled;
	uint64_t place_us; /* the time of a placement of a manifest */
	uv_loop_t loop;
	size_t vms;	     /* whose reach is known; 0: no look is complete */
	query_done profiled; /* the question for a profile; NULL: none */
	void *profiled_owner;
	/* The last answer. */
	unsigned answered, status;
	uint64_t id;
	char *body; /* owned */
} scene;

/* ---- stand-ins ---- */

void question_client_listen(struct question_client *client,
	const struct question_listener *listener)
{
	(void)client;
	scene.listener = *listener;
}

void question_client_answer(struct question_client *client,
	const struct question_ref *ref, unsigned status, const char *body,
	size_t len)
{
	(void)client;
	assert_int_equal(strlen(body), len);
	scene.answered++;
	scene.id = ref->id;
	scene.status = status;
	xreplace(&scene.body, body);
	golden_tell("%s\n", body);
}

bool planner_start(struct planner *planner, const struct planner_job *job)
{
	(void)planner;
	if (scene.refuses) {
		return false;
	}
	assert_true(job->is_report);
	assert_true(job->is_asked);
	scene.has_job = true;
	scene.job = *job;
	return true;
}

void planner_cancel(struct planner *planner, const void *owner)
{
	(void)planner;
	assert_true(scene.has_job);
	assert_ptr_equal(owner, scene.job.owner);
	scene.cancelled++;
	scene.has_job = false;
	scene.job.done(scene.job.owner, NULL, false);
}

bool planner_may_move(const struct planner *planner, const struct pod *pod,
	const struct node *node, struct buffer *why)
{
	(void)planner;
	assert_string_equal(pod->vm_name, "web");
	assert_string_equal(node->name, pod->node_name);
	if (scene.why_not != NULL) {
		buffer_text(why, scene.why_not);
	}
	return scene.why_not == NULL;
}

void __wrap_reach_stats(const struct reach *reach, struct reach_stats *out);
void __wrap_reach_stats(const struct reach *reach, struct reach_stats *out)
{
	(void)reach;
	*out = (struct reach_stats){ .is_known = scene.vms > 0,
		.count = scene.vms };
}

const char *__wrap_reach_vm(const struct reach *reach, size_t i,
	unsigned *nodes);
const char *__wrap_reach_vm(const struct reach *reach, size_t i,
	unsigned *nodes)
{
	static char name[32];

	(void)reach;
	assert_true(i < scene.vms);
	(void)snprintf(name, sizeof(name), "shop/vm-%zu", i);
	*nodes = (unsigned)i % 3;
	return name;
}

static void ask_room(void *moves,
	void (*done)(void *owner, int status, const struct buffer *body),
	void *owner)
{
	assert_ptr_equal(moves, &scene);
	assert_null(scene.room);
	scene.room = done;
	scene.room_owner = owner;
}

static void forget_room(void *moves, void *owner)
{
	assert_ptr_equal(moves, &scene);
	assert_ptr_equal(owner, scene.room_owner);
	scene.room = NULL;
}

static void end_room(const char *json)
{
	scoped_buffer struct buffer body = BUFFER_MAX(1024);
	void (*done)(void *owner, int status, const struct buffer *body) =
		take_ptr(scene.room);

	assert_non_null(done);
	buffer_text(&body, json);
	done(scene.room_owner, 200, &body);
}

void question_client_rebalance(const struct question_client *client,
	struct rebalance_state *out)
{
	(void)client;
	*out = (struct rebalance_state){ "Automatic", "it is night" };
}

const struct vmi *kubevirt_vmi_named(const struct kubevirt *kubevirt,
	const char *namespace, const char *name)
{
	(void)kubevirt;
	assert_string_equal(namespace, "ns");
	return scene.vmi != NULL && strcmp(name, scene.vmi->name) == 0
		? scene.vmi
		: NULL;
}

bool kubevirt_is_ready(const struct kubevirt *kubevirt, struct buffer *why)
{
	(void)kubevirt;
	if (!scene.is_watching) {
		buffer_text(why, "virtualmachineinstances are not watched");
	}
	return scene.is_watching;
}

void kubevirt_cluster_limits(const struct kubevirt *kubevirt,
	struct migration_limits *out)
{
	(void)kubevirt;
	*out = migration_limits_default;
}

void kubevirt_launcher_settings(const struct kubevirt *kubevirt,
	struct launcher_settings *out)
{
	(void)kubevirt;
	fake_clock_move(scene.place_us);
	*out = launcher_settings_default;
}

void profile_client_ask(struct profile_client *client,
	const struct profile_request *vm, query_done done, void *owner)
{
	(void)client;
	assert_string_equal(vm->namespace, "ns");
	assert_string_equal(vm->name, "web");
	scene.profiled = done;
	scene.profiled_owner = owner;
}

/* The aggregators answer. */
static void end_profile(const struct usage *usage)
{
	query_done done = scene.profiled;

	scene.profiled = NULL;
	done(scene.profiled_owner, usage, NULL);
}

static bool is_synced(void *owner)
{
	(void)owner;
	return scene.is_synced;
}

static bool leads(void *owner)
{
	(void)owner;
	return scene.leads;
}

/* The planner's thread works and ends. */
static void end_job(bool is_done)
{
	assert_true(scene.has_job);
	scene.has_job = false;
	if (is_done) {
		scene.job.work(scene.job.owner, &scene.world.input);
	}
	scene.job.done(scene.job.owner, is_done ? &scene.world.input : NULL,
		is_done);
}

/* ---- questions ---- */

static void ask_in(const char *namespace, enum question_kind kind,
	const char *json, uint64_t id)
{
	scoped_free char *body = given_quotes(json);
	struct question question = { .id = id,
		.kind = kind,
		.is_visible = true,
		.body = body,
		.len = strlen(body) };

	(void)snprintf(question.namespace, sizeof(question.namespace), "%s",
		namespace);
	xreplace(&scene.body, "");
	scene.listener.ask(scene.listener.owner, &question,
		(struct question_ref){ 0, id, 1 });
}

static void ask(enum question_kind kind, const char *json, uint64_t id)
{
	ask_in("ns", kind, json, id);
}

static void expect(unsigned status, const char *part)
{
	assert_int_equal(scene.status, status);
	given_check(strstr(scene.body, part) != NULL, scene.body);
}

static int setup(void **state)
{
	static char any[1]; /* is never read */

	(void)state;
	scene = (struct scene){ .is_synced = true,
		.leads = true,
		.is_watching = true,
		.body = xstrdup("") };
	cache_init(&scene.cache);
	queue_init(&scene.queue);
	reservations_init(&scene.reservations, &scene.cache);
	world_begin(&scene.world);
	assert_int_equal(uv_loop_init(&scene.loop), 0);
	scene.options = (struct answers_options){ .cache = &scene.cache,
		.reservations = &scene.reservations,
		.queue = &scene.queue,
		.planner = (struct planner *)any,
		.kubevirt = (const struct kubevirt *)any,
		.room = { ask_room, forget_room, &scene, NULL },
		.loop = &scene.loop,
		.is_synced = is_synced,
		.leads = leads };
	scene.answers = answers_new(&scene.options);
	return 0;
}

static int teardown(void **state)
{
	assert_golden_told(GOLDEN_PROGRAM, *state);
	answers_close(scene.answers);
	if (scene.profiled != NULL) {
		end_profile(NULL);
	}
	(void)uv_run(&scene.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&scene.loop), 0);
	world_end(&scene.world);
	queue_fini(&scene.queue);
	reservations_fini(&scene.reservations);
	cache_fini(&scene.cache);
	free(scene.body);
	return 0;
}

static void a_placement_is_answered_at_once(void **state)
{
	(void)state;
	ask(QUESTION_PLACEMENT, "{'object':{'kind':'Pod','spec':{}}}", 5);
	assert_int_equal(scene.answered, 1);
	assert_int_equal(scene.id, 5);
	expect(200, "{\"chosen\":null,\"sentence\":\"no nodes available");
}

/* No API server admits such a pod, however long its decision would take. */
static void a_manifest_that_no_api_server_admits_is_refused(void **state)
{
	(void)state;
	ask(QUESTION_PLACEMENT,
		"{'object':{'kind':'Pod','spec':{'topologySpreadConstraints':["
		"{'maxSkew':1,'topologyKey':'a','whenUnsatisfiable':"
		"'DoNotSchedule'},{'maxSkew':2,'topologyKey':'a',"
		"'whenUnsatisfiable':'DoNotSchedule'}]}}}",
		5);
	expect(422,
		"spec.object.spec.topologySpreadConstraints[1] repeats "
		"topologyKey and whenUnsatisfiable of another constraint");
}

static const char stopped[] =
	"{'object':{'kind':'VirtualMachineInstance','metadata':{'name':'web'},"
	"'spec':{'domain':{'memory':{'guest':'4Gi'},'cpu':{'cores':4},"
	"'devices':{'autoattachPodInterface':false}}}}}";

static void put_node(void)
{
	struct json_value *object = given_json(
		"{'metadata':{'name':'a','labels':{'kubevirt.io/schedulable':"
		"'true'}},'status':{'allocatable':{'cpu':'16','memory':'64Gi',"
		"'pods':'9','ephemeral-storage':'9Gi',"
		"'devices.kubevirt.io/kvm':'9'}}}");
	static char name[] = "a";
	struct node_load load = given_load(1, 1 << 30);
	int64_t now_us = (int64_t)clock_monotonic_us();
	bool changed;

	assert_int_equal(
		cache_put_node(&scene.cache, &changed, object, 1, NULL), 0);
	json_value_free(object);
	load.name = name;
	cache_put_load(&scene.cache, &changed, &load, now_us, now_us);
}

/* The launcher pod of ns/web, on node a. */
static void run_web(void)
{
	cache_put_pod(&scene.cache,
		given_pod(scene.cache.interner,
			"{'metadata':{'name':'launcher','namespace':'ns',"
			"'uid':'u','labels':{'kubevirt.io':'virt-launcher',"
			"'kubevirt.io/created-by':'vmi-web'},'annotations':{"
			"'kubevirt.io/domain':'web'}},'spec':{'nodeName':'a',"
			"'containers':[{'name':'compute'}]},'status':{"
			"'phase':'Running'}}"),
		1);
}

static void the_profile_of_a_stopped_vm_counts(void **state)
{
	const struct usage usage = { .seconds = 28800,
		.mean_cores = 3.9,
		.square_cores = 15.3 };
	scoped_free char *without = NULL;

	(void)state;
	put_node();
	ask(QUESTION_PLACEMENT, stopped, 5);
	assert_int_equal(scene.answered, 0);
	end_profile(&(const struct usage){ 0 });
	expect(200, "\"chosen\":\"a\"");
	without = xstrdup(scene.body);
	ask(QUESTION_PLACEMENT, stopped, 6);
	end_profile(&usage);
	expect(200, "\"chosen\":\"a\"");
	assert_int_equal(scene.answered, 2);
	/* It says how much is used by this VM. */
	assert_non_null(strstr(without, "by this VM"));
	assert_string_not_equal(strstr(without, "\"sentence\""),
		strstr(scene.body, "\"sentence\""));
	assert_null(strstr(scene.body, "+ 6 % by this VM"));
	assert_non_null(strstr(without, "+ 6 % by this VM"));
}

static void pass_ms(uint64_t ms)
{
	fake_clock_move(ms * 1000);
	(void)uv_run(&scene.loop, UV_RUN_DEFAULT);
}

static void a_profile_that_does_not_come_is_not_waited_for(void **state)
{
	(void)state;
	put_node();
	ask(QUESTION_PLACEMENT, stopped, 5);
	pass_ms(ANSWERS_PROFILE_MS - 1);
	assert_int_equal(scene.answered, 0);
	pass_ms(1);
	assert_int_equal(scene.answered, 1);
	expect(200, "\"chosen\":\"a\"");
	end_profile(NULL);
	assert_int_equal(scene.answered, 1);
	/* Nor when the scheduler stops. */
	ask(QUESTION_PLACEMENT, stopped, 6);
	answers_close(take_ptr(scene.answers));
	assert_int_equal(scene.answered, 1);
}

static const char any_pod[] = "{'object':{'kind':'Pod','spec':{}}}";

static void placements_take_a_tenth_of_the_loops_time(void **state)
{
	(void)state;
	scene.place_us = 100000;
	ask(QUESTION_PLACEMENT, any_pod, 5);
	assert_int_equal(scene.answered, 1);
	ask(QUESTION_PLACEMENT, any_pod, 6);
	ask(QUESTION_PLACEMENT, any_pod, 7);
	pass_ms(899);
	assert_int_equal(scene.answered, 1);
	pass_ms(2);
	assert_int_equal(scene.answered, 2);
	assert_int_equal(scene.id, 6);
	pass_ms(1001);
	assert_int_equal(scene.answered, 3);
	assert_int_equal(scene.id, 7);
	/* Nobody waits once the time has passed. */
	pass_ms(901);
	ask(QUESTION_PLACEMENT, any_pod, 8);
	assert_int_equal(scene.answered, 4);
}

static void a_placement_that_waits_for_long_is_refused(void **state)
{
	(void)state;
	scene.place_us = 2000000;
	ask(QUESTION_PLACEMENT, any_pod, 5);
	ask(QUESTION_PLACEMENT, any_pod, 6);
	pass_ms(ANSWERS_PLACE_WAIT_US / 1000 - 1);
	assert_int_equal(scene.answered, 1);
	pass_ms(2);
	assert_int_equal(scene.answered, 2);
	expect(503, "too many placements wait; ask again later");
	/* One that waits at the end is not answered. */
	ask(QUESTION_PLACEMENT, any_pod, 7);
	answers_close(take_ptr(scene.answers));
	assert_int_equal(scene.answered, 2);
}

static void a_plan_is_answered_when_the_search_has_ended(void **state)
{
	(void)state;
	world_node(&scene.world, "a", 16);
	ask(QUESTION_PLAN, "{'goal':'Evacuate','nodeNames':['a']}", 7);
	assert_int_equal(scene.answered, 0);
	end_job(true);
	assert_int_equal(scene.answered, 1);
	assert_int_equal(scene.id, 7);
	expect(200, "\"found\":true");
}

static void a_pod_that_waits_gets_room(void **state)
{
	struct pod *pod = given_pod(scene.cache.interner,
		"{'metadata':{'name':'p','namespace':'ns','uid':'u'},"
		"'spec':{'containers':[{'name':'c','resources':{'requests':{"
		"'memory':'8Gi'}}}]}}");

	(void)state;
	queue_put(&scene.queue, pod, 1);
	world_node(&scene.world, "a", 16);
	ask(QUESTION_PLAN, "{'goal':'MakeRoom','podName':'p'}", 8);
	end_job(true);
	expect(200, "\"nodeName\":\"a\"");
	ask(QUESTION_PLAN, "{'goal':'MakeRoom','podName':'q'}", 8);
	expect(404, "no pod ns/q is known");
}

static void a_pod_that_is_placed_needs_no_room(void **state)
{
	(void)state;
	put_node();
	run_web();
	ask(QUESTION_PLAN, "{'goal':'MakeRoom','podName':'launcher'}", 8);
	expect(422, "the pod ns/launcher is on a already");
	assert_false(scene.has_job);
}

static void a_bad_question_is_refused_in_words(void **state)
{
	(void)state;
	ask(QUESTION_PLAN, "{'goal':", 1);
	expect(400, "invalid JSON");
	ask(QUESTION_PLAN, "{'goal':'Win'}", 1);
	expect(422, "spec.goal is none of");
	ask(QUESTION_PLACEMENT, "{}", 1);
	expect(422, "exactly one of");
	ask(QUESTION_PLACEMENT, "{'vmName':'web'}", 1);
	expect(404, "the VM ns/web does not run");
	assert_int_equal(scene.answered, 4);
}

static void says_why_there_is_no_plan_now(void **state)
{
	static const char goal[] = "{'goal':'Evacuate','nodeNames':['a']}";

	(void)state;
	scene.is_watching = false;
	ask(QUESTION_PLAN, goal, 1);
	end_job(false);
	expect(503, "virtualmachineinstances are not watched");
	scene.is_watching = true;
	ask(QUESTION_PLAN, goal, 1);
	end_job(false);
	expect(503, "not all nodes and pods are known");
	scene.refuses = true;
	ask(QUESTION_PLAN, goal, 1);
	expect(503, "too many searches for plans wait");
	scene.is_synced = false;
	ask(QUESTION_PLAN, goal, 1);
	expect(503, "does not know the whole cluster yet");
	answers_close(scene.answers);
	scene.is_synced = true;
	scene.options.planner = NULL;
	scene.answers = answers_new(&scene.options);
	ask(QUESTION_PLAN, goal, 1);
	expect(503, "nothing watches KubeVirt with --rebalance off");
}

static void a_search_is_cancelled_when_the_scheduler_stops(void **state)
{
	(void)state;
	ask(QUESTION_PLAN, "{'goal':'Evacuate','nodeNames':['a']}", 1);
	answers_close(take_ptr(scene.answers));
	assert_int_equal(scene.cancelled, 1);
	assert_int_equal(scene.answered, 0);
	assert_null(scene.listener.leads);
}

static void only_a_leader_listens(void **state)
{
	(void)state;
	assert_true(scene.listener.leads(scene.listener.owner));
	scene.leads = false;
	assert_false(scene.listener.leads(scene.listener.owner));
}

/* ---- outlooks ---- */

static void an_outlook_on_the_cluster_waits_for_the_room(void **state)
{
	(void)state;
	put_node();
	ask_in("", QUESTION_OUTLOOK, "{}", 5);
	assert_int_equal(scene.answered, 0);
	end_room("{\"mode\":\"off\",\"making\":[]}");
	assert_int_equal(scene.answered, 1);
	assert_int_equal(scene.id, 5);
	expect(200,
		"\"room\":{\"mode\":\"off\",\"making\":[]},\"rebalance\":{"
		"\"mode\":\"Automatic\",\"why\":\"it is night\"},\"nodes\":[{"
		"\"name\":\"a\"");
}

static void a_room_that_does_not_come_is_not_waited_for(void **state)
{
	(void)state;
	put_node();
	ask_in("", QUESTION_OUTLOOK, "{}", 5);
	pass_ms(OUTLOOKS_ROOM_MS - 1);
	assert_non_null(scene.room);
	pass_ms(1);
	assert_null(scene.room);
	assert_int_equal(scene.answered, 1);
	expect(200, "\"room\":{\"fitsError\":\"the search for what fits");
	/* Nor when the scheduler stops. */
	ask_in("", QUESTION_OUTLOOK, "{}", 6);
	answers_close(take_ptr(scene.answers));
	assert_null(scene.room);
	assert_int_equal(scene.answered, 1);
}

static void without_kubevirt_the_outlook_has_no_room(void **state)
{
	(void)state;
	answers_close(scene.answers);
	scene.options.planner = NULL;
	scene.answers = answers_new(&scene.options);
	ask_in("", QUESTION_OUTLOOK, "{}", 5);
	expect(200, "\"nodes\":[]");
	assert_null(strstr(scene.body, "\"room\""));
	put_node();
	run_web();
	ask(QUESTION_OUTLOOK, "{'vmName':'web'}", 6);
	expect(200, "\"nodeName\":\"a\",\"reason\":\"nothing watches KubeVirt");
	ask(QUESTION_OUTLOOK, "{'vmName':'other'}", 7);
	expect(404, "the scheduler knows no VM ns/other");
}

static void an_outlook_on_a_vm_says_whether_it_may_be_moved(void **state)
{
	static char namespace[] = "ns", name[] = "web", uid[] = "vmi-web";
	const struct vmi vmi = { .namespace = namespace,
		.name = name,
		.uid = uid };

	(void)state;
	scene.vmi = &vmi;
	put_node();
	ask(QUESTION_OUTLOOK, "{'vmName':'web'}", 5);
	expect(200, "\"isMovable\":false,\"reason\":\"has no node yet\"}");
	assert_null(strstr(scene.body, "nodeName"));
	run_web();
	ask(QUESTION_OUTLOOK, "{'vmName':'web'}", 6);
	expect(200, "\"nodeName\":\"a\",\"isMovable\":true,\"reason\":\"\"}");
	scene.why_not = "cannot be migrated: its disk is local";
	ask(QUESTION_OUTLOOK, "{'vmName':'web'}", 7);
	expect(200, "\"isMovable\":false,\"reason\":\"cannot be migrated: its");
	ask(QUESTION_OUTLOOK, "{'vmName':'other'}", 8);
	expect(404, "the scheduler knows no VM ns/other");
	ask(QUESTION_OUTLOOK, "{}", 9);
	expect(422, "spec.vmName is missing");
	/* Without the VMIs nobody knows. */
	scene.is_watching = false;
	ask(QUESTION_OUTLOOK, "{'vmName':'web'}", 10);
	expect(200, "\"nodeName\":\"a\",\"reason\":\"virtualmachineinst");
	assert_null(strstr(scene.body, "isMovable"));
}

static void what_vms_can_reach_comes_in_pages(void **state)
{
	(void)state;
	ask_in("", QUESTION_REACH, "{}", 5);
	expect(503, "what VMs can reach is not known yet");
	scene.vms = REACH_PAGE + 2;
	ask_in("", QUESTION_REACH, "{}", 6);
	expect(200, "{\"reach\":{\"shop/vm-0\":0,\"shop/vm-1\":1,");
	expect(200, "\"shop/vm-999\":0},\"next\":1000}");
	assert_null(strstr(scene.body, "vm-1000"));
	ask_in("", QUESTION_REACH, "{'from':1000}", 7);
	expect(200, "{\"reach\":{\"shop/vm-1000\":1,\"shop/vm-1001\":2}}");
	/* The VMs became fewer meanwhile, or somebody asks for nonsense. */
	ask_in("", QUESTION_REACH, "{'from':1e300}", 8);
	expect(200, "{\"reach\":{}}");
	ask_in("", QUESTION_REACH, "{'from':-1}", 9);
	expect(200, "{\"reach\":{\"shop/vm-0\":0,");
	answers_close(scene.answers);
	scene.options.planner = NULL;
	scene.answers = answers_new(&scene.options);
	ask_in("", QUESTION_REACH, "{}", 10);
	expect(503, "nothing watches KubeVirt");
}

#define TEST(name) golden_test(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_placement_is_answered_at_once),
		TEST(a_manifest_that_no_api_server_admits_is_refused),
		TEST(the_profile_of_a_stopped_vm_counts),
		TEST(a_profile_that_does_not_come_is_not_waited_for),
		TEST(a_plan_is_answered_when_the_search_has_ended),
		TEST(a_pod_that_waits_gets_room),
		TEST(a_pod_that_is_placed_needs_no_room),
		TEST(a_bad_question_is_refused_in_words),
		TEST(says_why_there_is_no_plan_now),
		TEST(a_search_is_cancelled_when_the_scheduler_stops),
		TEST(only_a_leader_listens),
		TEST(an_outlook_on_the_cluster_waits_for_the_room),
		TEST(a_room_that_does_not_come_is_not_waited_for),
		TEST(without_kubevirt_the_outlook_has_no_room),
		TEST(an_outlook_on_a_vm_says_whether_it_may_be_moved),
		TEST(what_vms_can_reach_comes_in_pages),
		TEST(placements_take_a_tenth_of_the_loops_time),
		TEST(a_placement_that_waits_for_long_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
