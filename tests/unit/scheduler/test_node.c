#include "scheduler/node.h"

#include <errno.h>
#include <math.h>

#include "scheduler/moment.h"
#include "tests/unit/scheduler/given.h"

static const int64_t second = 1000000;

static bool is_near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

static int64_t requested(const struct node *node, const char *name)
{
	for (size_t i = 0; i < node->other_count; i++) {
		if (strcmp(names_text(node->names, node->others[i].resource),
			    name) == 0) {
			return node->others[i].requested;
		}
	}
	return -1;
}

static void counts_pods_as_they_come_and_go(void **state)
{
	struct names *names = names_new();
	struct node *node = given_plain_node(names, "n");
	struct pod *vm = given_vm(names, "vm", 4);
	struct pod *gpu = given_spec(names,
		"{'containers':[{'resources':{'requests':{'cpu':'1','x.y/gpu':"
		"'2','ephemeral-storage':'7'}}}]}");

	(void)state;
	node_add_pod(node, vm, MOMENT_LONG_AGO);
	node_add_pod(node, gpu, MOMENT_LONG_AGO);
	assert_int_equal(node->pods_running, 2);
	assert_int_equal(node->cpu_milli_requested, 1400);
	assert_true(node->memory_bytes_requested == INT64_C(4) << 30);
	assert_int_equal(node->ephemeral_bytes_requested, 7);
	assert_int_equal(requested(node, "devices.kubevirt.io/kvm"), 1);
	assert_int_equal(requested(node, "x.y/gpu"), 2);
	assert_int_equal(node->expected_milli, 2000);

	node_remove_pod(node, vm);
	node_remove_pod(node, gpu);
	assert_int_equal(node->pods_running, 0);
	assert_int_equal(node->cpu_milli_requested, 0);
	assert_true(node->memory_bytes_requested == 0);
	assert_int_equal(requested(node, "x.y/gpu"), 0);
	assert_int_equal(node->expected_milli, 0);
	node_free(node);
	pod_free(vm);
	pod_free(gpu);
	names_free(names);
}

static void keeps_pods_and_load_across_updates(void **state)
{
	struct names *names = names_new();
	struct node *node = given_plain_node(names, "n");
	struct pod *vm = given_vm(names, "vm", 4);
	struct node_load load = given_load(3, 0);
	struct value *newer = given_json(
		"{'metadata':{'name':'n','labels':{'a':'b'}},'spec':{"
		"'unschedulable':true},'status':{'allocatable':{'cpu':'8'}}}");
	struct value *broken = given_json(
		"{'metadata':{'name':'n'},'status':{'allocatable':"
		"{'cpu':'x'}}}");

	(void)state;
	node_add_pod(node, vm, 5 * second);
	node_set_load(node, &load, 6 * second, 6 * second);
	assert_int_equal(node_update(node, newer, NULL), 0);
	assert_true(node->is_unschedulable);
	assert_int_equal(node->cpu_milli, 8000);
	assert_int_equal(node->labels.count, 1);
	assert_int_equal(node->cpu_milli_requested, 400);
	assert_int_equal(requested(node, "devices.kubevirt.io/kvm"), 1);
	assert_int_equal(node->pending_count, 1);
	assert_true(node->measure.is_known);
	assert_int_equal(node_update(node, broken, NULL), -EBADMSG);
	assert_int_equal(node->cpu_milli, 8000);
	node_free(node);
	pod_free(vm);
	value_free(newer);
	value_free(broken);
	names_free(names);
}

static void charges_vms_until_they_are_measured(void **state)
{
	struct names *names = names_new();
	struct node *node = given_plain_node(names, "n");
	struct pod *vm = given_vm(names, "vm", 4);
	struct pod *pod = given_spec(names,
		"{'containers':[{'resources':{'requests':{'cpu':'1'}}}]}");
	struct node_load load = given_load(3, 0);
	struct vm_load seen;

	(void)state;
	node_add_pod(node, vm, 0);
	node_add_pod(node, pod, 0);
	assert_true(is_near(node_pending_cores(node, 0), 1));
	assert_true(node_pending_memory(node, 0) > 4.0e9);

	vm_load_init(&seen);
	strcpy(seen.pod_uid, "uid-vm");
	seen.used_cores = 0.75;
	load.vms = &seen;
	load.vm_count = 1;
	node_set_load(node, &load, 10 * second, 10 * second);
	assert_true(is_near(node_pending_cores(node, 10 * second), 0.25));

	load.vm_count = 0;
	node_set_load(node, &load, 150 * second, 150 * second);
	assert_true(is_near(node_pending_cores(node, 150 * second), 0.5));
	node_set_load(node, &load, 301 * second, 301 * second);
	assert_int_equal(node->pending_count, 0);

	node_add_pod(node, vm, 400 * second);
	node_forget_load(node);
	assert_false(node->measure.is_known);
	assert_true(is_near(node_pending_cores(node, 400 * second), 1));
	node_remove_pod(node, vm);
	assert_true(is_near(node_pending_cores(node, 400 * second), 0));
	node_free(node);
	pod_free(vm);
	pod_free(pod);
	names_free(names);
}

static void forgets_old_charges_without_any_load(void **state)
{
	struct names *names = names_new();
	struct node *node = given_plain_node(names, "n");
	struct pod *a = given_vm(names, "a", 4);
	struct pod *b = given_vm(names, "b", 4);

	(void)state;
	node_add_pod(node, a, 0);
	node_add_pod(node, b, 301 * second);
	assert_int_equal(node->pending_count, 1);
	assert_string_equal(node->pending[0].uid, "uid-b");
	node_free(node);
	pod_free(a);
	pod_free(b);
	names_free(names);
}

/* Anybody may write spec.nodeName and absurd requests into a pod. */
static void survives_sums_beyond_64_bits(void **state)
{
	struct names *names = names_new();
	struct node *node = given_plain_node(names, "n");
	struct pod *pod = given_spec(names,
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
	names_free(names);
}

static void says_which_node_is_broken(void **state)
{
	struct names *names = names_new();
	struct value *value =
		given_json("{'metadata':{'name':'n','labels':{'a':1}}}");
	struct node *node = NULL;
	struct error err;

	(void)state;
	assert_int_equal(node_new(&node, names, value, &err), -EBADMSG);
	assert_string_equal(err.text, "node 'n': label 'a' is not a string");
	node_free(node);
	value_free(value);
	names_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_pods_as_they_come_and_go),
		cmocka_unit_test(keeps_pods_and_load_across_updates),
		cmocka_unit_test(charges_vms_until_they_are_measured),
		cmocka_unit_test(forgets_old_charges_without_any_load),
		cmocka_unit_test(survives_sums_beyond_64_bits),
		cmocka_unit_test(says_which_node_is_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
