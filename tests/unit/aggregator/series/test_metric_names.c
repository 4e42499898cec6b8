#include "aggregator/series/metric_names.h"

#include "lib/memory.h"
#include "tests/unit/aggregator/sample.h"

#include <ctype.h>

typedef const struct metric *(*metric_list)(size_t i);

static const struct metric *find(metric_list at, const char *name,
	const char *label_value, size_t entry)
{
	for (size_t i = 0; at(i) != NULL; i++) {
		const struct metric *m = at(i);

		if (strcmp(m->name, name) == 0 && m->entry == entry &&
			(label_value == NULL ||
				strcmp(m->label_value, label_value) == 0)) {
			return m;
		}
	}
	fail_msg("there is no %s", name);
	return NULL;
}

static void check_name(const struct metric *m)
{
	size_t len = strlen(m->name);
	bool is_total = len > 6 && strcmp(m->name + len - 6, "_total") == 0;

	assert_int_equal(is_total, m->is_counter);
	assert_true(m->help[0] != '\0');
	assert_null(strpbrk(m->help, "\\\n\""));
	for (size_t c = 0; c < len; c++) {
		assert_true(m->name[c] == '_' ||
			isalnum((unsigned char)m->name[c]));
	}
}

/* The rules of promtool. */
static void names_and_helps_follow_the_rules_of_prometheus(void **state)
{
	(void)state;
	for (size_t i = 0; metric_node_at(i) != NULL; i++) {
		check_name(metric_node_at(i));
	}
	for (size_t i = 0; metric_vm_at(i) != NULL; i++) {
		check_name(metric_vm_at(i));
	}
}

static void check_together(metric_list at, size_t i)
{
	const char *name = at(i)->name;

	if (strcmp(at(i - 1)->name, name) != 0) {
		for (size_t j = 0; j < i; j++) {
			assert_string_not_equal(at(j)->name, name);
		}
	}
}

/* The exposition format wants one block for each name. */
static void metrics_of_one_name_follow_each_other(void **state)
{
	(void)state;
	for (size_t i = 1; metric_node_at(i) != NULL; i++) {
		check_together(metric_node_at, i);
	}
	for (size_t i = 1; metric_vm_at(i) != NULL; i++) {
		check_together(metric_vm_at, i);
	}
}

static bool is_share(const char *field)
{
	return strncmp(field, "pressure_", strlen("pressure_")) == 0 ||
		strcmp(field, "contention") == 0;
}

static void every_load_figure_has_a_metric(void **state)
{
	(void)state;
	for (size_t f = 0; f < load_field_count; f++) {
		const struct load_field *field = &load_fields[f];
		char name[80];

		/* These two are node_exporter's. */
		if (strcmp(field->name, "total_bytes") == 0 ||
			strcmp(field->name, "available_bytes") == 0) {
			continue;
		}
		(void)snprintf(name, sizeof(name), "plimsoll_node_%s_%s%s",
			field->group, field->name,
			is_share(field->name) ? "_ratio" : "");
		assert_int_equal(find(metric_node_at, name, NULL, 0)->offset,
			field->offset);
	}
}

static void exports_times_in_seconds(void **state)
{
	struct report r = sample_report(1, 100);
	struct metric_sample s;

	(void)state;
	r.cpu.user_us = 1500000;
	r.pressure.cpu.some_us = 250000;
	assert_true(metric_node_sample(&s,
		find(metric_node_at, "plimsoll_node_cpu_seconds_total", "user",
			0),
		&r, NULL));
	assert_true(s.value == 1.5);
	assert_int_equal(s.label_count, 1);
	assert_string_equal(s.labels[0].key, "mode");
	assert_string_equal(s.labels[0].value, "user");
	assert_true(metric_node_sample(&s,
		find(metric_node_at, "node_pressure_cpu_waiting_seconds_total",
			NULL, 0),
		&r, NULL));
	assert_true(s.value == 0.25);
	assert_int_equal(s.label_count, 0);
}

static void exports_no_sample_of_an_unknown_value(void **state)
{
	struct report r = sample_report(1, 100);
	struct metric_sample s;

	(void)state;
	r.pressure.cpu.state = SOURCE_DISABLED;
	r.memory.state = SOURCE_ERROR;
	r.cpu.state = SOURCE_ERROR;
	r.cpu.user_us = 5;
	for (size_t i = 0; metric_node_at(i) != NULL; i++) {
		const struct metric *m = metric_node_at(i);

		if (strstr(m->name, "node_cpu_") != NULL ||
			strstr(m->name, "node_pressure_cpu") != NULL ||
			strstr(m->name, "irq") != NULL ||
			strstr(m->name, "node_memory_Mem") != NULL ||
			strstr(m->name, "hugepages") != NULL ||
			m->from == METRIC_LOAD) {
			assert_false(metric_node_sample(&s, m, &r, NULL));
		}
	}
}

static void labels_each_pool_of_huge_pages(void **state)
{
	struct report r = sample_report(1, 100);
	struct metric_sample s;

	(void)state;
	r.hugepages_count = 2;
	r.hugepages[1] = (struct hugepages){ 1 << 30, 7, 3, REPORT_UNKNOWN };
	r.numa_hugepages_count = 1;
	r.numa_hugepages[0] = (struct numa_hugepages){ 1, 2 << 20, 50, 20 };
	assert_true(metric_node_sample(&s,
		find(metric_node_at, "plimsoll_node_hugepages_free", NULL, 1),
		&r, NULL));
	assert_true(s.value == 3);
	assert_string_equal(s.labels[0].value, "1073741824");
	assert_false(metric_node_sample(&s,
		find(metric_node_at, "plimsoll_node_hugepages_reserved", NULL,
			1),
		&r, NULL));
	assert_true(metric_node_sample(&s,
		find(metric_node_at, "plimsoll_node_numa_hugepages_free", NULL,
			0),
		&r, NULL));
	assert_true(s.value == 20);
	assert_int_equal(s.label_count, 2);
	assert_string_equal(s.labels[0].value, "1");
	assert_string_equal(s.labels[1].value, "2097152");
}

static void exports_raw_and_derived_figures_of_vms(void **state)
{
	struct vm_pod vm = sample_vm("a", 1);
	struct vm_load load;
	struct metric_sample s;

	(void)state;
	vm_load_init(&load);
	load.used_cores = 1.25;
	vm.throttled_us = 2000000;
	vm.hugetlb_count = 1;
	vm.hugetlb[0] = (struct hugetlb_use){ 2 << 20, 4 << 20 };
	assert_true(metric_vm_sample(&s,
		find(metric_vm_at, "container_cpu_cfs_throttled_seconds_total",
			NULL, 0),
		&vm, &load));
	assert_true(s.value == 2);
	assert_true(metric_vm_sample(&s,
		find(metric_vm_at, "plimsoll_vm_used_cores", NULL, 0), &vm,
		&load));
	assert_true(s.value == 1.25);
	assert_false(metric_vm_sample(&s,
		find(metric_vm_at, "plimsoll_vm_contention_ratio", NULL, 0),
		&vm, &load));
	assert_true(metric_vm_sample(&s,
		find(metric_vm_at, "container_hugetlb_usage_bytes", NULL, 0),
		&vm, &load));
	assert_string_equal(s.labels[0].value, "2MB");
	assert_false(metric_vm_sample(&s,
		find(metric_vm_at, "container_hugetlb_usage_bytes", NULL, 1),
		&vm, &load));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			names_and_helps_follow_the_rules_of_prometheus),
		cmocka_unit_test(metrics_of_one_name_follow_each_other),
		cmocka_unit_test(every_load_figure_has_a_metric),
		cmocka_unit_test(exports_times_in_seconds),
		cmocka_unit_test(exports_no_sample_of_an_unknown_value),
		cmocka_unit_test(labels_each_pool_of_huge_pages),
		cmocka_unit_test(exports_raw_and_derived_figures_of_vms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
