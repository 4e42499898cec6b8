#include "proto/report.h"

#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/unit/proto/report_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void assert_unknown(const void *base, enum report_list of)
{
	struct report_rows rows = report_rows(of);
	uint64_t none = REPORT_UNKNOWN;
	double nan;

	for (size_t i = 0; i < rows.count; i++) {
		const struct report_row *row = &rows.list[i];
		const char *at = (const char *)base + row->offset;

		memcpy(&nan, at, row->kind == REPORT_DOUBLE ? sizeof(nan) : 0);
		assert_true(row->kind != REPORT_DOUBLE || isnan(nan));
		/* The key, the clock and a count begin at 0. */
		assert_true(row->kind != REPORT_U64 ||
			memcmp(at, &none, sizeof(none)) == 0 ||
			strcmp(row->name, "seq") == 0 ||
			strcmp(row->name, "monotonic_us") == 0 ||
			strcmp(row->name, "dropped") == 0);
	}
}

static void everything_in_a_new_report_is_unknown(void **state)
{
	struct report r;
	struct vm_pod vm;

	(void)state;
	memset(&r, 0x5a, sizeof(r));
	memset(&vm, 0x5a, sizeof(vm));
	report_init(&r);
	assert_unknown(&r, OF_NODE);
	assert_int_equal(r.seq, 0);
	assert_int_equal(r.cpu.state, SOURCE_UNKNOWN);
	assert_int_equal(r.cgroup_mode, CGROUP_UNKNOWN);
	assert_int_equal(r.kvm.state, KVM_UNVERIFIED);
	assert_int_equal(r.kvm.nested, KNOWN_NOT);
	assert_null(r.vms);
	assert_int_equal(r.vm_count + r.hugepages_count, 0);
	assert_int_equal(r.numa_hugepages_count, 0);

	vm_pod_init(&vm);
	assert_unknown(&vm, OF_POD);
	assert_string_equal(vm.pod_uid, "");
	assert_int_equal(vm.hugetlb_count, 0);
}

static void a_copy_is_independent(void **state)
{
	struct report from, copy;

	(void)state;
	report_init(&from);
	from.seq = 7;
	from.vm_count = 2;
	from.vms = xcalloc(2, sizeof(*from.vms));
	vm_pod_init(&from.vms[0]);
	vm_pod_init(&from.vms[1]);
	from.vms[1].cgroup_inode = 11;
	memcpy(from.vms[1].pod_uid, "uid-1", 6);

	report_copy(&copy, &from);
	from.vms[1].cgroup_inode = 12;
	report_fini(&from);
	assert_null(from.vms);
	assert_int_equal(from.vm_count, 0);
	assert_int_equal(copy.seq, 7);
	assert_int_equal(copy.vm_count, 2);
	assert_string_equal(copy.vms[1].pod_uid, "uid-1");
	assert_int_equal(copy.vms[1].cgroup_inode, 11);
	report_fini(&copy);
}

static void a_moved_report_leaves_nothing_to_release(void **state)
{
	struct report from, to, borrowed;

	(void)state;
	report_init(&from);
	from.vm_count = 1;
	from.vms = xcalloc(1, sizeof(*from.vms));
	from.vms[0].cgroup_inode = 11;
	from.own.rss_bytes = 12;
	from.numa_hugepages_count = 2;
	from.numa_hugepages[1] = (struct numa_hugepages){ 1, 2, 3, 4 };

	report_borrow(&borrowed, &from);
	assert_ptr_equal(borrowed.vms, from.vms);
	report_move(&to, &from);
	assert_null(from.vms);
	assert_int_equal(from.vm_count, 0);
	assert_ptr_equal(to.vms, borrowed.vms);
	assert_int_equal(to.vms[0].cgroup_inode, 11);
	assert_int_equal(to.own.rss_bytes, 12);
	assert_int_equal(to.numa_hugepages_count, 2);
	assert_int_equal(to.numa_hugepages[1].free, 4);
	assert_int_equal(borrowed.numa_hugepages[1].total, 3);
	report_fini(&from);
	report_fini(&to);
}

static void copies_and_releases_a_report_without_vms(void **state)
{
	struct report from, copy;

	(void)state;
	report_init(&from);
	report_copy(&copy, &from);
	assert_null(copy.vms);
	report_fini(&copy);
	report_fini(&copy);
	report_fini(NULL);
}

static void names_values_as_the_apis_show_them(void **state)
{
	(void)state;
	assert_string_equal(source_state_name(SOURCE_UNKNOWN), "unknown");
	assert_string_equal(source_state_name(SOURCE_PRESENT), "present");
	assert_string_equal(source_state_name(SOURCE_ABSENT), "absent");
	assert_string_equal(source_state_name(SOURCE_DISABLED), "disabled");
	assert_string_equal(source_state_name(SOURCE_ERROR), "error");
	assert_string_equal(cgroup_mode_name(CGROUP_UNKNOWN), "unknown");
	assert_string_equal(cgroup_mode_name(CGROUP_V2), "v2");
	assert_string_equal(cgroup_mode_name(CGROUP_HYBRID), "hybrid");
	assert_string_equal(cgroup_mode_name(CGROUP_V1), "v1");
}

/* Few pods and many are compared in different ways. */
static void of_pods_with_one_uid_the_first_is_kept(void **state)
{
	static const size_t counts[] = { 1, 2, 64, 65, 200 };

	(void)state;
	for (size_t c = 0; c < count_of(counts); c++) {
		size_t count = counts[c], distinct = (count + 1) / 2;
		struct report r;

		report_init(&r);
		r.vms = xcalloc(count, sizeof(*r.vms));
		r.vm_count = count;
		for (size_t i = 0; i < count; i++) {
			(void)snprintf(r.vms[i].pod_uid,
				sizeof(r.vms[i].pod_uid), "uid-%zu", i / 2);
			r.vms[i].cgroup_inode = i;
		}
		report_drop_duplicates(&r);
		assert_int_equal(r.vm_count, distinct);
		for (size_t i = 0; i < distinct; i++) {
			assert_int_equal(r.vms[i].cgroup_inode, 2 * i);
		}
		report_drop_duplicates(&r);
		assert_int_equal(r.vm_count, distinct);
		report_fini(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_in_a_new_report_is_unknown),
		cmocka_unit_test(a_copy_is_independent),
		cmocka_unit_test(a_moved_report_leaves_nothing_to_release),
		cmocka_unit_test(copies_and_releases_a_report_without_vms),
		cmocka_unit_test(names_values_as_the_apis_show_them),
		cmocka_unit_test(of_pods_with_one_uid_the_first_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
