#include "aggregator/apiserver/cells.h"

#include "aggregator/apiserver/load_objects.h"
#include "aggregator/apiserver/record_objects.h"
#include "aggregator/apiserver/status_object.h"
#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/fake_clock.h"

#include <math.h>
#include <stdio.h>

#define NOW_US UINT64_C(1790000000000000)
#define HOUR_US UINT64_C(3600000000)

static void assert_cells(void (*write)(struct json *j, const void *object),
	const void *object, const char *cells)
{
	scoped_buffer struct buffer out = BUFFER_MAX(4096);
	struct json j = json_into(&out);

	json_array(&j, NULL);
	write(&j, object);
	json_array_end(&j);
	assert_string_equal(out.data, cells);
}

static struct vm_object a_vm(void)
{
	struct vm_object vm = { .node_name = "node-1",
		.state = "Fresh",
		.age_seconds = 3,
		.reachable_nodes = 7,
		.pod_list = { .count = 1 } };

	vm_load_init(&vm.load);
	vm.load.used_cores = 1.234;
	vm.load.used_cores_5m = 2;
	vm.load.memory_bytes = 3.0 * (1 << 30);
	vm.load.contention = 0.025;
	return vm;
}

static void a_vm_has_its_node_its_use_and_its_waits(void **state)
{
	struct vm_object vm = a_vm();

	(void)state;
	assert_cells(cells_of_vm, &vm,
		"[\"node-1\",\"1.23\",\"2.00\",\"3.0Gi\",\"2.5%\","
		"\"Fresh\",\"3s\",\"<none>\",\"0.0%\",\"0.0%\",\"7\"]");
}

static void a_vm_that_moves_has_a_target(void **state)
{
	struct vm_object vm = a_vm();

	(void)state;
	vm.pods[1].node_name = "node-2";
	assert_cells(cells_of_vm, &vm,
		"[\"node-1\",\"1.23\",\"2.00\",\"3.0Gi\",\"2.5%\","
		"\"Fresh\",\"3s\",\"<none>\",\"0.0%\",\"0.0%\",\"7\"]");
	vm.pod_list.count = 2;
	vm.reachable_nodes = REPORT_UNKNOWN;
	vm.load.io_pressure = 0.5;
	vm.load.memory_pressure = 0.25;
	assert_cells(cells_of_vm, &vm,
		"[\"node-1\",\"1.23\",\"2.00\",\"3.0Gi\",\"2.5%\","
		"\"Fresh\",\"3s\",\"node-2\",\"25.0%\",\"50.0%\",\"<unknown>"
		"\"]");
}

static void ages_and_bytes_have_the_unit_that_fits(void **state)
{
	static const struct {
		double seconds, bytes;
		const char *age, *size;
	} cases[] = {
		{ -1, 0, "0s", "0" },
		{ 119, 1023, "119s", "1023" },
		{ 120, 1024, "2m", "1.0Ki" },
		{ 7199, 10.0 * 1024, "119m", "10Ki" },
		{ 7200, 2.5 * (1 << 20), "2h", "2.5Mi" },
		{ 172799, 1023.0 * (1 << 20), "47h", "1023Mi" },
		{ 172800, 1024.0 * (1 << 30), "2d", "1.0Ti" },
		{ 864000, 5e18, "10d", "4441Pi" },
		{ NAN, NAN, "<unknown>", "<unknown>" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct vm_object vm = a_vm();
		scoped_free char *cells = xasprintf(
			"[\"node-1\",\"1.23\",\"2.00\",\"%s\",\"2.5%%\","
			"\"Fresh\",\"%s\",\"<none>\",\"0.0%%\",\"0.0%%\","
			"\"7\"]",
			cases[i].size, cases[i].age);

		vm.age_seconds = cases[i].seconds;
		vm.load.memory_bytes = cases[i].bytes;
		assert_cells(cells_of_vm, &vm, cells);
	}
}

static void a_node_has_shares_of_its_own_size(void **state)
{
	struct node_object node = { .state = "Fresh",
		.age_seconds = 2,
		.hottest = "cpu",
		.vm_count = 7,
		.kvm = { "OK", "" } };

	(void)state;
	node_load_init(&node.load);
	node.load.cpu_cores = 16;
	node.load.cpu_used_cores_10s = 4;
	node.load.memory_total_bytes = 1000;
	node.load.memory_available_bytes = 250;
	node.load.cpu_contention = 0.125;
	node.load.io_pressure_full_60s = 0.25;
	assert_cells(cells_of_node, &node,
		"[\"Fresh\",\"4.0/16\",\"25%\",\"75%\",\"12.5%\",\"cpu\",7,"
		"\"2s\",\"25.0%\",\"<unknown>\",\"OK\"]");
	node.load.cpu_used_cores_10s = NAN;
	node.hottest = NULL;
	assert_cells(cells_of_node, &node,
		"[\"Fresh\",\"<unknown>\",\"<unknown>\",\"75%\",\"12.5%\","
		"\"<none>\",7,\"2s\",\"25.0%\",\"<unknown>\",\"OK\"]");
}

static void a_decision_says_where_and_by_what_margin(void **state)
{
	static char sentence[] = "node-1 has the most room";
	struct decision_object decision = { .vm_name = "vm-1",
		.chosen = "node-1",
		.margin = 1.25,
		.decided_by = "cpu",
		.pod_name = "pod-1",
		.sentence = sentence };

	(void)state;
	assert_cells(cells_of_decision, &decision,
		"[\"vm-1\",\"node-1\",\"1.2\",\"cpu\",\"<unknown>\","
		"\"pod-1\",\"node-1 has the most room\"]");
	decision.margin = NAN;
	decision.chosen = "";
	/* A clock that is behind makes no negative age. */
	decision.time_us = NOW_US + HOUR_US;
	assert_cells(cells_of_decision, &decision,
		"[\"vm-1\",\"<none>\",\"<none>\",\"cpu\",\"0s\","
		"\"pod-1\",\"node-1 has the most room\"]");
}

static void a_move_says_from_where_to_where_and_why(void **state)
{
	static char sentence[] = "relieves node-1";
	struct move_object move = { .state = "Succeeded",
		.reason = "CPU",
		.sentence = sentence };

	(void)state;
	(void)snprintf(move.record.vm, sizeof(move.record.vm), "vm-1");
	(void)snprintf(move.record.source, sizeof(move.record.source),
		"node-1");
	(void)snprintf(move.record.target, sizeof(move.record.target),
		"node-2");
	move.record.wall_us = NOW_US - 3 * HOUR_US;
	assert_cells(cells_of_move, &move,
		"[\"vm-1\",\"node-1\",\"node-2\",\"CPU\",\"Succeeded\","
		"\"3h\",\"relieves node-1\"]");
}

static void a_status_counts_the_fresh_agents_of_all(void **state)
{
	struct status_object status = { .version = "1.2.3",
		.store = { .state = "Failing", .reason = "disk full" },
		.agents = { .fresh = 3, .stale = 2, .lost = 1 } };

	(void)state;
	assert_cells(cells_of_status, &status,
		"[\"1.2.3\",\"Failing\",\"3/6\",\"disk full\"]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vm_has_its_node_its_use_and_its_waits),
		cmocka_unit_test(a_vm_that_moves_has_a_target),
		cmocka_unit_test(ages_and_bytes_have_the_unit_that_fits),
		cmocka_unit_test(a_node_has_shares_of_its_own_size),
		cmocka_unit_test(a_decision_says_where_and_by_what_margin),
		cmocka_unit_test(a_move_says_from_where_to_where_and_why),
		cmocka_unit_test(a_status_counts_the_fresh_agents_of_all),
	};

	fake_clock_set(NOW_US, NOW_US);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
