#include "kubectl/load_rows.h"

#include "kube/json_value.h"
#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <math.h>
#include <string.h>

static void add(struct load_rows *rows, const char *text)
{
	scoped_free char *json = xstrdup(text);
	struct json_value *object = NULL;

	for (char *at = json; *at != '\0'; at++) {
		*at = (char)(*at == '\'' ? '"' : *at);
	}
	assert_int_equal(json_value_parse(&object, json, strlen(json), NULL),
		0);
	load_rows_add(rows, object);
	json_value_free(object);
}

static void a_vms_hottest_resource_is_what_it_waits_for(void **state)
{
	static const struct {
		const char *status, *hottest;
	} cases[] = {
		{ "{}", "-" },
		{ "{'contention':0.009,'ioPressure':0.005}", "-" },
		{ "{'contention':0.2,'ioPressure':0.1}", "cpu" },
		{ "{'contention':0.2,'memoryPressure':0.3}", "memory" },
		{ "{'contention':0.2,'memoryPressure':0.3,'ioPressure':0.25}",
			"memory" },
		{ "{'contention':0.2,'memoryPressure':0.3,'ioPressure':0.4}",
			"io" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *text =
			xasprintf("{'status':%s}", cases[i].status);
		struct load_rows rows = { 0 };

		add(&rows, text);
		assert_string_equal(rows.rows[0].hottest, cases[i].hottest);
		load_rows_fini(&rows);
	}
}

static void the_used_memory_of_a_node_is_what_is_not_available(void **state)
{
	struct load_rows rows = { .has_nodes = true };

	(void)state;
	add(&rows,
		"{'status':{'memory':{'totalBytes':1000,'availableBytes':250,"
		"'pressureSome':0.25},'cpu':{'cores':16,'usedCores':4,"
		"'usedCores5m':5,'contention':0.5},'io':{'pressureSome':0.75},"
		"'hottest':'memory','heat':0.8,'vmCount':3,"
		"'kvm':{'state':'ok'}}}");
	add(&rows, "{'status':{}}");
	assert_true(rows.rows[0].memory_bytes == 750);
	assert_true(rows.rows[0].memory_share == 0.75);
	assert_true(rows.rows[0].memory_pressure == 0.25);
	assert_true(rows.rows[0].cores == 16);
	assert_true(rows.rows[0].used_cores == 4);
	assert_true(rows.rows[0].used_cores_5m == 5);
	assert_true(rows.rows[0].contention == 0.5);
	assert_true(rows.rows[0].io_pressure == 0.75);
	assert_string_equal(rows.rows[0].hottest, "memory");
	assert_true(rows.rows[0].heat == 0.8);
	assert_true(rows.rows[0].vms == 3);
	assert_string_equal(rows.rows[0].kvm, "ok");
	assert_true(isnan(rows.rows[1].memory_bytes));
	assert_true(isnan(rows.rows[1].memory_share));
	assert_string_equal(rows.rows[1].kvm, "-");
	load_rows_fini(&rows);
}

/* The cells of a line of the table, with single spaces. */
static void assert_table(const struct load_rows *rows, bool has_namespaces,
	const char *text)
{
	scoped_buffer struct buffer out = BUFFER_MAX(4096);
	char *to;

	load_rows_write(&out, rows, has_namespaces, true);
	to = out.data;
	for (const char *at = out.data; *at != '\0'; at++) {
		if (*at != ' ' || at[1] != ' ') {
			*to++ = *at;
		}
	}
	*to = '\0';
	assert_string_equal(out.data, text);
}

static void a_table_of_vms_has_the_columns_that_were_asked_for(void **state)
{
	struct load_rows rows = { 0 };

	(void)state;
	add(&rows,
		"{'metadata':{'name':'v','namespace':'shop'},'spec':{"
		"'nodeName':'a'},'status':{'usedCores':1.5,'usedCores5m':2,"
		"'memoryBytes':1073741824,'contention':0.25,'state':'Fresh',"
		"'ageSeconds':3,'memoryPressure':0.125,'ioPressure':0.0625,"
		"'reachableNodes':7,"
		"'pods':[{'nodeName':'a'},{'nodeName':'b'}]}}");
	assert_table(&rows, false,
		"NAME NODE HOTTEST CPU(cores) CPU(5m) MEMORY(bytes) CONTENTION "
		"STATE AGE\nv a cpu 1.50 2.00 1.0Gi 25% Fresh 3s\n");
	assert_table(&rows, true,
		"NAMESPACE NAME NODE HOTTEST CPU(cores) CPU(5m) MEMORY(bytes) "
		"CONTENTION STATE AGE\n"
		"shop v a cpu 1.50 2.00 1.0Gi 25% Fresh 3s\n");
	rows.output = OUTPUT_WIDE;
	assert_table(&rows, false,
		"NAME NODE HOTTEST CPU(cores) CPU(5m) MEMORY(bytes) CONTENTION "
		"STATE AGE TARGET MEMORY-PRESSURE IO-PRESSURE REACH\n"
		"v a cpu 1.50 2.00 1.0Gi 25% Fresh 3s b 12% 6% 7\n");
	load_rows_fini(&rows);
}

static void a_table_of_nodes_has_the_columns_that_were_asked_for(void **state)
{
	struct load_rows rows = { .has_nodes = true };

	(void)state;
	add(&rows,
		"{'metadata':{'name':'n'},'status':{'memory':{'totalBytes':"
		"4096,"
		"'availableBytes':1024,'pressureSome':0.25},'cpu':{'cores':16,"
		"'usedCores':4,'contention':0.5},'io':{'pressureSome':0.125},"
		"'hottest':'memory','heat':0.75,'vmCount':3,'state':'Fresh',"
		"'ageSeconds':3,'kvm':{'state':'OK'}}}");
	assert_table(&rows, false,
		"NAME HOTTEST HEAT CPU(cores) CPU(%) MEMORY(%) CONTENTION VMS "
		"STATE AGE\nn memory 75% 4.00 25% 75% 50% 3 Fresh 3s\n");
	rows.output = OUTPUT_WIDE;
	assert_table(&rows, false,
		"NAME HOTTEST HEAT CPU(cores) CPU(%) MEMORY(%) CONTENTION VMS "
		"STATE AGE CORES MEMORY(bytes) IO-PRESSURE MEMORY-PRESSURE "
		"KVM\n"
		"n memory 75% 4.00 25% 75% 50% 3 Fresh 3s 16 3.0Ki 12% 25% "
		"OK\n");
	load_rows_fini(&rows);
}

static void a_moving_vm_has_a_target(void **state)
{
	struct load_rows rows = { 0 };

	(void)state;
	add(&rows,
		"{'spec':{'nodeName':'a'},'status':{'pods':["
		"{'nodeName':'a'},{'nodeName':'b'}]}}");
	add(&rows,
		"{'spec':{'nodeName':'a'},'status':{'pods':["
		"{'nodeName':'a'}]}}");
	assert_string_equal(rows.rows[0].target, "b");
	assert_string_equal(rows.rows[1].target, "");
	load_rows_fini(&rows);
}

static void unknown_figures_sort_last_and_equals_by_name(void **state)
{
	static const enum load_sort sorts[] = { SORT_HEAT, SORT_CPU,
		SORT_MEMORY, SORT_CONTENTION, SORT_IO };
	struct load_rows rows = { 0 };

	(void)state;
	add(&rows, "{'metadata':{'name':'unknown'},'status':{}}");
	add(&rows, "{'metadata':{'name':'Unknown'},'status':{}}");
	for (int i = 0; i < 3; i++) {
		scoped_free char *text = xasprintf(
			"{'metadata':{'name':'%c'},'status':{'usedCores':%d,"
			"'memoryBytes':%d,'contention':%d,'ioPressure':%d}}",
			"bac"[i], i / 2, i / 2, i / 2, i / 2);

		add(&rows, text);
	}
	for (size_t i = 0; i < count_of(sorts); i++) {
		load_rows_sort(&rows, SORT_NAME);
		assert_string_equal(rows.rows[0].name, "Unknown");
		assert_string_equal(rows.rows[4].name, "unknown");
		load_rows_sort(&rows, sorts[i]);
		assert_string_equal(rows.rows[0].name, "c");
		assert_string_equal(rows.rows[1].name, "a");
		assert_string_equal(rows.rows[2].name, "b");
		assert_string_equal(rows.rows[3].name, "Unknown");
		assert_string_equal(rows.rows[4].name, "unknown");
	}
	load_rows_fini(&rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vms_hottest_resource_is_what_it_waits_for),
		cmocka_unit_test(
			the_used_memory_of_a_node_is_what_is_not_available),
		cmocka_unit_test(
			a_table_of_vms_has_the_columns_that_were_asked_for),
		cmocka_unit_test(
			a_table_of_nodes_has_the_columns_that_were_asked_for),
		cmocka_unit_test(a_moving_vm_has_a_target),
		cmocka_unit_test(unknown_figures_sort_last_and_equals_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
