#include "scheduler/cluster/node.h"

#include <errno.h>
#include <math.h>

#include "kube/time.h"
#include "tests/unit/scheduler/given.h"

static const int64_t second = 1000000;

static bool is_near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

static int64_t requested(const struct node *node, const char *name)
{
	for (size_t i = 0; i < node->scalar_count; i++) {
		if (strcmp(interner_text(node->interner,
				   node->scalars[i].resource),
			    name) == 0) {
			return node->scalars[i].requested;
		}
	}
	return -1;
}

static void sums_requests_as_pods_come_and_go(void **state)
{
	struct interner *interner = interner_new();
	struct node *node = given_plain_node(interner, "n");
	struct pod *vm = given_vm(interner, "vm", 4);
	struct pod *gpu = given_spec(interner,
		"{'containers':[{'resources':{'requests':{'cpu':'1','x.y/gpu':"
		"'2','ephemeral-storage':'7'}}}]}");

	(void)state;
	node_add_pod(node, vm, TIME_LONG_AGO);
	node_add_pod(node, gpu, TIME_LONG_AGO);
	assert_int_equal(node->pod_count, 2);
	assert_int_equal(node->cpu_milli_requested, 1400);
	assert_true(node->memory_bytes_requested == INT64_C(4) << 30);
	assert_int_equal(node->ephemeral_bytes_requested, 7);
	assert_int_equal(requested(node, "devices.kubevirt.io/kvm"), 1);
	assert_int_equal(node->expected_milli, 1000);

	node_remove_pod(node, vm);
	node_remove_pod(node, gpu);
	assert_int_equal(node->pod_count, 0);
	assert_int_equal(node->cpu_milli_requested, 0);
	assert_true(node->memory_bytes_requested == 0);
	assert_int_equal(requested(node, "devices.kubevirt.io/kvm"), 0);
	assert_int_equal(node->expected_milli, 0);
	node_free(node);
	pod_free(vm);
	pod_free(gpu);
	interner_free(interner);
}

static void update(struct node *node, const char *allocatable)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'n'},"
		"'status':{'allocatable':{%s}}}",
		allocatable);
	struct json_value *object = given_json(text);

	assert_int_equal(node_update(node, object, NULL), 0);
	json_value_free(object);
}

static void sums_requests_for_a_resource_while_the_node_offers_it(void **state)
{
	struct interner *interner = interner_new();
	struct node *node = given_plain_node(interner, "n");
	struct pod *gpu = given_spec(interner,
		"{'containers':[{'resources':{'requests':{'x.y/gpu':'2'}}}]}");

	(void)state;
	node_add_pod(node, gpu, TIME_LONG_AGO);
	assert_int_equal(requested(node, "x.y/gpu"), -1);
	update(node, "'x.y/gpu':'3'");
	assert_int_equal(requested(node, "x.y/gpu"), 2);
	update(node, "'x.y/gpu':'4'");
	assert_int_equal(requested(node, "x.y/gpu"), 2);
	update(node, "");
	node_remove_pod(node, gpu);
	update(node, "'x.y/gpu':'3'");
	assert_int_equal(requested(node, "x.y/gpu"), 0);
	node_free(node);
	pod_free(gpu);
	interner_free(interner);
}

/* Reads a node with this many numbered taints or resources. */
static int make_long(const char *before, const char *member,
	const char *closing, int count)
{
	scoped_buffer struct buffer text = BUFFER_MAX(1 << 20);
	struct interner *interner = interner_new();
	struct json_value *object;
	struct node *node = NULL;
	int r;

	buffer_text(&text, before);
	for (int i = 0; i < count; i++) {
		buffer_text(&text, i > 0 ? "," : "");
		buffer_printf(&text, "%s%d%s", member, i, closing);
	}
	buffer_text(&text, closing[1] == '}' ? "]}}" : "}}}");
	object = given_json(text.data);
	r = node_new(&node, interner, object, NULL);
	node_free(node);
	json_value_free(object);
	interner_free(interner);
	return r;
}

static void refuses_a_node_with_too_many_resources_or_taints(void **state)
{
	static const char taints[] =
		"{'metadata':{'name':'n'},'spec':{'taints':[";
	static const char resources[] =
		"{'metadata':{'name':'n'},'status':{'allocatable':{";

	(void)state;
	assert_int_equal(make_long(taints, "{'key':'", "'}", 1024), 0);
	assert_int_equal(make_long(taints, "{'key':'", "'}", 1025), -E2BIG);
	assert_int_equal(make_long(resources, "'x.y/", "':'1'", 256), 0);
	assert_int_equal(make_long(resources, "'x.y/", "':'1'", 257), -E2BIG);
}

static void keeps_pods_and_load_across_updates(void **state)
{
	struct interner *interner = interner_new();
	struct node *node = given_plain_node(interner, "n");
	struct node before;
	struct pod *vm = given_vm(interner, "vm", 4);
	struct pod *plain = given_spec(interner,
		"{'containers':[{'resources':{'requests':{'cpu':'1'},"
		"'limits':{'cpu':'2','memory':'1Gi'}}}]}");
	struct node_load load = given_load(3, 0);
	struct json_value *newer = given_json(
		"{'metadata':{'name':'n','labels':{'a':'b'}},'spec':{"
		"'unschedulable':true},'status':{'allocatable':{'cpu':'8',"
		"'devices.kubevirt.io/kvm':'1k'}}}");
	struct json_value *broken = given_json(
		"{'metadata':{'name':'n'},'status':{'allocatable':"
		"{'cpu':'x'}}}");

	(void)state;
	node_add_pod(node, vm, 5 * second);
	node_add_pod(node, plain, 5 * second);
	node_set_load(node, &load, 6 * second, 6 * second);
	before = *node;
	assert_int_equal(node_update(node, newer, NULL), 0);
	assert_true(before.expected_milli > 0 && before.nonzero_milli > 0);
	assert_int_equal(node->expected_milli, before.expected_milli);
	assert_int_equal(node->nonzero_milli, before.nonzero_milli);
	assert_int_equal(node->nonzero_bytes, before.nonzero_bytes);
	assert_int_equal(node->limit_milli, before.limit_milli);
	assert_int_equal(node->limit_bytes, before.limit_bytes);
	assert_int_equal(node->memory_bytes_requested,
		before.memory_bytes_requested);
	assert_int_equal(node->pod_count, 2);
	assert_true(node->is_unschedulable);
	assert_int_equal(node->cpu_milli, 8000);
	assert_int_equal(node->labels.count, 1);
	assert_int_equal(node->cpu_milli_requested, 1400);
	assert_int_equal(requested(node, "devices.kubevirt.io/kvm"), 1);
	assert_int_equal(node->vms.count, 1);
	assert_true(node->metrics.is_known);
	assert_int_equal(node_update(node, broken, NULL), -EBADMSG);
	assert_int_equal(node->cpu_milli, 8000);
	node_free(node);
	pod_free(vm);
	pod_free(plain);
	json_value_free(newer);
	json_value_free(broken);
	interner_free(interner);
}

static double expected_at(const struct node *node, int64_t now_us)
{
	const struct model_prior prior = { 0.25, 0.25 };
	const struct model_forecast load =
		node_expected_load(node, prior, now_us);

	assert_true(load.variance >= 0 && load.third >= 0);
	return load.cores;
}

static void charges_vms_until_they_are_measured(void **state)
{
	struct interner *interner = interner_new();
	struct node *node = given_plain_node(interner, "n");
	struct pod *vm = given_vm(interner, "vm", 4);
	struct node_load load = given_load(3, 0);
	struct vm_load seen;

	(void)state;
	node_set_load(node, &load, 0, 0);
	node_add_pod(node, vm, 0);
	assert_true(is_near(expected_at(node, 0), 3 + 1));
	assert_true(node_vms_memory(&node->vms, 0) > 4.0e9);
	assert_true(is_near(expected_at(node, 150 * second), 3 + 0.5));
	assert_true(is_near(expected_at(node, 301 * second), 3));

	/* Use in the first minute does not count. After 200 more seconds at
	 * half a core, its own usage has a weight of two fifths. */
	seen = given_vm_load(vm, 0.5);
	load.vms = &seen;
	load.vm_count = 1;
	node_set_load(node, &load, 60 * second, 60 * second);
	assert_true(is_near(expected_at(node, 60 * second), 3 - 0.5 + 1));
	node_set_load(node, &load, 260 * second, 260 * second);
	assert_true(is_near(expected_at(node, 260 * second),
		3 - 0.5 + 0.4 * 0.5 + 0.6 * 1));

	node_remove_pod(node, vm);
	load.vm_count = 0;
	node_set_load(node, &load, 400 * second, 400 * second);
	assert_true(is_near(expected_at(node, 400 * second), 3));
	assert_int_equal(node->vms.count, 0);
	node_free(node);
	pod_free(vm);
	interner_free(interner);
}

static struct announcement announce(const char *text)
{
	struct announcement announced = { 0 };

	assert_int_equal(announcement_parse(&announced, text, NULL), 0);
	return announced;
}

/* Up to the vCPUs, with the clock at 17:00 at 0. */
static void an_announcement_raises_the_expectation(void **state)
{
	const int64_t hour = 3600 * second;
	struct announcement announced = announce("3 from 19:00 to 20:00");
	struct announcement less = announce("0.1");
	struct announcement absurd = announce("400");
	struct interner *interner = interner_new();
	struct node *node = given_plain_node(interner, "n");
	struct pod *vm = given_vm(interner, "vm", 4);
	struct model_forecast forecast;
	struct node_load load = given_load(5, 0);
	struct vm_load seen = given_vm_load(vm, 1);
	double before;

	(void)state;
	load.vms = &seen;
	load.vm_count = 1;
	vm->announced = &announced;
	node_set_wall_offset(node, 17 * hour);
	node_add_pod(node, vm, 0);
	node_set_load(node, &load, 60 * second, 60 * second);
	before = expected_at(node, hour - 1);
	assert_true(is_near(before, 5));
	assert_true(is_near(expected_at(node, hour), 5 + 2));
	assert_true(is_near(expected_at(node, 3 * hour), 5));
	assert_true(node_vms_forecast(&node->vms, vm->uid,
		(struct model_prior){ 0.25, 0.25 }, hour, &forecast));
	assert_true(is_near(forecast.cores, 3));

	node->vms.list[0].announced = &less;
	assert_true(is_near(expected_at(node, hour), 5));
	node->vms.list[0].announced = &absurd;
	assert_true(is_near(expected_at(node, hour), 5 + 3));
	node_remove_pod(node, vm);
	assert_int_equal(node->vms.announced_count, 0);
	vm->announced = NULL;
	node_free(node);
	pod_free(vm);
	interner_free(interner);
}

static void observations_determine_the_model_of_a_vm(void **state)
{
	struct interner *interner = interner_new();
	struct node *node = given_plain_node(interner, "n");
	struct pod *vm = given_vm(interner, "vm", 4);
	struct node_load load = given_load(3, 0);
	struct vm_load seen;

	(void)state;
	seen = given_vm_load(vm, 3);
	load.vms = &seen;
	load.vm_count = 1;
	node_add_pod(node, vm, 0);
	for (int64_t at = 100; at <= 86400; at += 100) {
		node_set_load(node, &load, at * second, at * second);
	}
	assert_true(fabs(expected_at(node, 86400 * second) - 3) < 0.1);
	assert_true(
		fabs(node_vms_model(&node->vms, "uid-vm")->usage.mean_cores -
			3) < 1e-6);
	assert_null(node_vms_model(&node->vms, "uid-other"));

	/* The next pod of this VM has the usage from the start. */
	vm->usage = node_vms_model(&node->vms, "uid-vm")->usage;
	node_remove_pod(node, vm);
	load.vm_count = 0;
	load.cpu_used_cores = 0;
	node_set_load(node, &load, 90000 * second, 90000 * second);
	node_add_pod(node, vm, 90000 * second);
	assert_true(expected_at(node, 90000 * second) > 3 + 2.9);
	node_free(node);
	pod_free(vm);
	interner_free(interner);
}

/* Users can create pods with spec.nodeName and absurd requests. */
/* A profile does not say what happened lately. */
/* Its launcher is idle until KubeVirt hands the VM over. */
static void the_target_of_a_migration_teaches_nothing_of_its_vm(void **state)
{
	struct interner *interner = interner_new();
	struct node *node = given_plain_node(interner, "n");
	struct pod *vm = given_vm(interner, "vm", 4);
	struct node_load load = given_load(1, 0);
	struct vm_load seen = given_vm_load(vm, 0.01);
	const struct usage *usage;

	(void)state;
	load.vms = &seen;
	load.vm_count = 1;
	vm->is_target = true;
	vm->usage = (struct usage){ .seconds = 3000,
		.mean_cores = 3,
		.square_cores = 9,
		.recent_cores = 3,
		.recent_seconds = 2700 };
	node_add_pod(node, vm, -3600 * second);
	assert_int_equal(node->vms.arriving_count, 1);
	for (int64_t at = 10; at <= 100; at += 10) {
		node_set_load(node, &load, at * second, at * second);
	}
	usage = &node_vms_model(&node->vms, vm->uid)->usage;
	assert_true(is_near(usage->recent_cores, 3));
	assert_true(is_near(usage->seconds, 3000));
	assert_true(node->vms.seen.own > 2);

	/* Handed over: only what follows is learnt. */
	node->vms.list[0].is_arriving = false;
	node_set_load(node, &load, 110 * second, 110 * second);
	assert_true(usage->seconds > 3000 && usage->seconds <= 3010);
	node_remove_pod(node, vm);
	assert_int_equal(node->vms.arriving_count, 0);
	node_free(node);
	pod_free(vm);
	interner_free(interner);
}

static void a_profile_replaces_the_usage_but_not_recent_demand(void **state)
{
	const struct usage profile = { .seconds = 9000,
		.mean_cores = 3,
		.square_cores = 9.5 };
	struct interner *interner = interner_new();
	struct node *node = given_plain_node(interner, "n");
	struct pod *vm = given_vm(interner, "vm", 4);
	struct node_load load = given_load(3, 0);
	struct vm_load seen = given_vm_load(vm, 1);
	const struct model_vm *model;

	(void)state;
	load.vms = &seen;
	load.vm_count = 1;
	node_add_pod(node, vm, 0);
	node_set_load(node, &load, 100 * second, 100 * second);
	node_vms_update_profile(&node->vms, vm->uid, &profile);
	model = node_vms_model(&node->vms, vm->uid);
	assert_true(is_near(model->usage.mean_cores, 3));
	assert_true(is_near(model->usage.recent_cores, 1));
	assert_true(is_near(model->usage.recent_seconds, 40));
	node_remove_pod(node, vm);
	node_free(node);
	pod_free(vm);
	interner_free(interner);
}

static void survives_sums_beyond_64_bits(void **state)
{
	struct interner *interner = interner_new();
	struct node *node = given_plain_node(interner, "n");
	struct pod *pod = given_spec(interner,
		"{'containers':[{'resources':{'requests':{'cpu':'9E','memory':"
		"'9E','x.y/z':'9E'}}}]}");

	(void)state;
	for (int i = 0; i < 3; i++) {
		node_add_pod(node, pod, 0);
	}
	for (int i = 0; i < 3; i++) {
		node_remove_pod(node, pod);
	}
	assert_true(node->memory_bytes_requested == 0);
	assert_true(node->cpu_milli_requested == 0);
	assert_true(node->expected_milli == 0);
	node_free(node);
	pod_free(pod);
	interner_free(interner);
}

static void names_the_invalid_node(void **state)
{
	struct interner *interner = interner_new();
	struct json_value *value =
		given_json("{'metadata':{'name':'n','labels':{'a':1}}}");
	struct node *node = NULL;
	struct error err;

	(void)state;
	assert_int_equal(node_new(&node, interner, value, &err), -EBADMSG);
	assert_string_equal(err.text, "node 'n': label 'a' is not a string");
	node_free(node);
	json_value_free(value);
	interner_free(interner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_requests_as_pods_come_and_go),
		cmocka_unit_test(
			sums_requests_for_a_resource_while_the_node_offers_it),
		cmocka_unit_test(
			refuses_a_node_with_too_many_resources_or_taints),
		cmocka_unit_test(keeps_pods_and_load_across_updates),
		cmocka_unit_test(charges_vms_until_they_are_measured),
		cmocka_unit_test(an_announcement_raises_the_expectation),
		cmocka_unit_test(observations_determine_the_model_of_a_vm),
		cmocka_unit_test(
			the_target_of_a_migration_teaches_nothing_of_its_vm),
		cmocka_unit_test(
			a_profile_replaces_the_usage_but_not_recent_demand),
		cmocka_unit_test(survives_sums_beyond_64_bits),
		cmocka_unit_test(names_the_invalid_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
