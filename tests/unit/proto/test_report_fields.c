/* The table of a report's fields is complete and free of contradictions. */
#include "tests/unit/proto/report_rows.h"

#include "tests/support/cm.h"

/* The bytes of a struct that a row, a key or a list accounts for. */
struct coverage {
	size_t size;
	char bytes[sizeof(struct report)];
};

static void cover(struct coverage *c, size_t offset, size_t size)
{
	assert_in_range(offset + size, 1, c->size);
	for (size_t i = offset; i < offset + size; i++) {
		assert_int_equal(c->bytes[i], 0);
		c->bytes[i] = 1;
	}
}

#define COVER(c, type, member)                                                 \
	cover(c, offsetof(type, member), sizeof(((type *)NULL)->member))

static struct coverage cover_rows(enum report_list of, size_t size)
{
	struct coverage c = { .size = size };
	struct report_rows rows = report_rows(of);

	for (size_t i = 0; i < rows.count; i++) {
		cover(&c, rows.list[i].offset, rows.list[i].size);
	}
	return c;
}

/* A hole between two members is smaller than the 8 bytes they are aligned to:
 * 8 bytes or more are a member that the table lacks. */
static void assert_covered(const struct coverage *c)
{
	size_t hole = 0, at = 0;

	while (at < c->size && hole < 8) {
		hole = c->bytes[at] != 0 ? 0 : hole + 1;
		at++;
	}
	if (hole >= 8) {
		fail_msg("no row for the member at byte %zu", at - hole);
	}
}

static void every_member_of_a_report_has_a_row(void **state)
{
	struct coverage c = cover_rows(OF_NODE, sizeof(struct report));

	(void)state;
	COVER(&c, struct report, boot_id);
	cover(&c, offsetof(struct report, vms), sizeof(void *));
	COVER(&c, struct report, vm_count);
	COVER(&c, struct report, hugepages);
	COVER(&c, struct report, hugepages_count);
	COVER(&c, struct report, numa_hugepages);
	COVER(&c, struct report, numa_hugepages_count);
	assert_covered(&c);
}

static void every_member_of_a_pod_has_a_row(void **state)
{
	struct coverage c = cover_rows(OF_POD, sizeof(struct vm_pod));

	(void)state;
	COVER(&c, struct vm_pod, pod_uid);
	COVER(&c, struct vm_pod, cgroup_inode);
	COVER(&c, struct vm_pod, hugetlb);
	COVER(&c, struct vm_pod, hugetlb_count);
	assert_covered(&c);
}

static void every_member_of_a_list_entry_has_a_row(void **state)
{
	struct coverage hugepages =
		cover_rows(OF_HUGEPAGES, sizeof(struct hugepages));
	struct coverage numa =
		cover_rows(OF_NUMA, sizeof(struct numa_hugepages));
	struct coverage hugetlb =
		cover_rows(OF_HUGETLB, sizeof(struct hugetlb_use));

	(void)state;
	assert_covered(&hugepages);
	assert_covered(&numa);
	assert_covered(&hugetlb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_member_of_a_report_has_a_row),
		cmocka_unit_test(every_member_of_a_pod_has_a_row),
		cmocka_unit_test(every_member_of_a_list_entry_has_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
