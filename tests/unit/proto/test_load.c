#include "proto/load.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stdlib.h>
#include <string.h>

static void lists_the_figures_in_their_order(void **state)
{
	static const char *const names[] = { "cpu.cores", "cpu.used_cores",
		"cpu.used_cores_10s", "cpu.used_cores_5m", "cpu.used_cores_15m",
		"cpu.used_cores_1h", "cpu.stdev_cores_5m",
		"cpu.stdev_cores_15m", "cpu.stdev_cores_1h", "cpu.p95_cores_1h",
		"cpu.p95_cores_1d", "cpu.pressure_some",
		"cpu.pressure_some_60s", "cpu.contention", "memory.total_bytes",
		"memory.available_bytes", "memory.working_set_bytes",
		"memory.used_bytes_15m", "memory.stdev_bytes_15m",
		"memory.pressure_some", "memory.pressure_full",
		"memory.pressure_full_60s", "memory.swap_in_bytes_60s",
		"io.pressure_some", "io.pressure_full",
		"io.pressure_full_60s" };

	(void)state;
	assert_int_equal(load_field_count, count_of(names));
	for (size_t i = 0; i < load_field_count; i++) {
		scoped_free char *name = xasprintf("%s.%s",
			load_fields[i].group, load_fields[i].name);

		assert_string_equal(name, names[i]);
	}
}

static void gives_each_figure_its_own_member(void **state)
{
	struct node_load load;

	(void)state;
	node_load_init(&load);
	for (size_t i = 0; i < load_field_count; i++) {
		double *figure = load_field_of(&load, &load_fields[i]);

		assert_true(isnan(*figure));
		*figure = (double)i;
	}
	for (size_t i = 0; i < load_field_count; i++) {
		assert_true(
			*load_field_of(&load, &load_fields[i]) == (double)i);
	}
	assert_true(load.cpu_cores == 0);
	assert_true(load.cpu_contention == 13);
	assert_true(load.memory_total_bytes == 14);
	assert_true(load.io_pressure_full == 24);
	node_load_fini(&load);
}

static void derives_fresh_stale_and_lost_from_the_age(void **state)
{
	static const struct {
		uint64_t age_us;
		uint32_t interval_ms;
		enum load_state state;
	} cases[] = {
		{ 0, 2000, LOAD_FRESH },
		{ 15000000, 2000, LOAD_FRESH },
		{ 15000001, 2000, LOAD_STALE },
		{ 15000000, 0, LOAD_FRESH },
		{ 15000001, 0, LOAD_STALE },
		/* three intervals, once they are longer than 15 s */
		{ 15000001, 5000, LOAD_STALE },
		{ 15000001, 5001, LOAD_FRESH },
		{ 15003000, 5001, LOAD_FRESH },
		{ 15003001, 5001, LOAD_STALE },
		{ 180000000, 60000, LOAD_FRESH },
		{ 180000001, 60000, LOAD_STALE },
		/* five minutes, whatever the interval */
		{ 300000000, 2000, LOAD_STALE },
		{ 300000001, 2000, LOAD_LOST },
		{ 300000000, 3600000, LOAD_FRESH },
		{ 300000001, 3600000, LOAD_LOST },
		{ 300000000, UINT32_MAX, LOAD_FRESH },
		/* 3,000 times this is just beyond 32 bits */
		{ 300000000, 1431656, LOAD_FRESH },
		{ UINT64_MAX, 2000, LOAD_LOST },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_int_equal(
			load_state(cases[i].age_us, cases[i].interval_ms),
			cases[i].state);
	}
	assert_string_equal(load_state_name(LOAD_FRESH), "fresh");
	assert_string_equal(load_state_name(LOAD_STALE), "stale");
	assert_string_equal(load_state_name(LOAD_LOST), "lost");
}

static void a_new_vm_has_unknown_figures(void **state)
{
	struct vm_load vm;

	(void)state;
	memset(&vm, 0x5a, sizeof(vm));
	vm_load_init(&vm);
	assert_string_equal(vm.pod_uid, "");
	assert_null(vm.namespace);
	assert_null(vm.name);
	assert_true(isnan(vm.used_cores) && isnan(vm.used_cores_5m));
	assert_true(isnan(vm.memory_bytes) && isnan(vm.contention));
}

static void a_copy_is_deep(void **state)
{
	struct node_load from, copy;

	(void)state;
	node_load_init(&from);
	from.name = xstrdup("worker-1");
	from.cpu_used_cores = 2.5;
	from.kvm_state = KVM_OK;
	from.hugepages_count = 1;
	from.hugepages[0].size_bytes = 2097152;
	from.vm_count = 2;
	from.vms = xcalloc(2, sizeof(*from.vms));
	vm_load_init(&from.vms[0]);
	vm_load_init(&from.vms[1]);
	node_load_name_vms(&from,
		(struct vm_name[]){ { NULL, NULL }, { "prod", "web" } });
	from.vms[1].used_cores = 1.5;

	node_load_copy(&copy, &from);
	from.name[0] = 'x';
	from.vms[1].name[0] = 'x';
	from.vms[1].used_cores = 9;
	node_load_fini(&from);
	assert_null(from.name);
	assert_null(from.vms);
	assert_string_equal(copy.name, "worker-1");
	assert_true(copy.cpu_used_cores == 2.5);
	assert_int_equal(copy.kvm_state, KVM_OK);
	assert_int_equal(copy.hugepages[0].size_bytes, 2097152);
	assert_int_equal(copy.vm_count, 2);
	assert_null(copy.vms[0].name);
	assert_string_equal(copy.vms[1].namespace, "prod");
	assert_string_equal(copy.vms[1].name, "web");
	assert_true(copy.vms[1].used_cores == 1.5);
	node_load_fini(&copy);
}

static void copies_and_releases_an_empty_load(void **state)
{
	struct node_load from, copy;

	(void)state;
	node_load_init(&from);
	node_load_copy(&copy, &from);
	assert_null(copy.name);
	assert_int_equal(copy.vm_count, 0);
	node_load_fini(&copy);
	node_load_fini(&copy);
	node_load_fini(&from);
	node_load_fini(NULL);
}

static void reserved_huge_pages_are_not_free(void **state)
{
	const int64_t most = INT64_C(1) << 62;
	static const struct {
		uint64_t size, free, reserved;
		int64_t pages;
	} cases[] = {
		{ 1 << 21, 500, 0, 500 },
		{ 1 << 21, 500, 7, 493 },
		{ 1 << 21, 500, REPORT_UNKNOWN, 500 },
		{ 1 << 21, 7, 500, 0 },
		{ 1 << 21, REPORT_UNKNOWN, 0, -1 },
		{ 1 << 30, 500, 0, -1 },
	};
	struct node_load load;
	int64_t bytes;

	(void)state;
	node_load_init(&load);
	load.hugepages_count = 1;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		load.hugepages[0] = (struct hugepages){ cases[i].size, 1000,
			cases[i].free, cases[i].reserved };
		bytes = -(INT64_C(1) << 21);
		assert_int_equal(load_free_hugepages(&bytes, &load, 1 << 21),
			cases[i].pages >= 0);
		assert_int_equal(bytes >> 21, cases[i].pages);
	}
	load.hugepages[0] = (struct hugepages){ UINT64_C(1) << 40, 0,
		UINT64_C(1) << 40, 0 };
	assert_true(load_free_hugepages(&bytes, &load, UINT64_C(1) << 40));
	assert_true(bytes == most);
	node_load_fini(&load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_the_figures_in_their_order),
		cmocka_unit_test(gives_each_figure_its_own_member),
		cmocka_unit_test(derives_fresh_stale_and_lost_from_the_age),
		cmocka_unit_test(a_new_vm_has_unknown_figures),
		cmocka_unit_test(a_copy_is_deep),
		cmocka_unit_test(copies_and_releases_an_empty_load),
		cmocka_unit_test(reserved_huge_pages_are_not_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
