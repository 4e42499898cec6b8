#include "agent/hugepages.h"

#include "tests/unit/agent/fixture.h"

#define BASE "kernel/mm/hugepages/"

static void put_pool(const struct tree *tree, const char *name,
	const char *total, const char *free_pages, const char *reserved)
{
	char path[128];

	(void)snprintf(path, sizeof(path), BASE "%s/nr_hugepages", name);
	tree_put(tree, path, total);
	(void)snprintf(path, sizeof(path), BASE "%s/free_hugepages", name);
	tree_put(tree, path, free_pages);
	(void)snprintf(path, sizeof(path), BASE "%s/resv_hugepages", name);
	tree_put(tree, path, reserved);
}

static void parses_the_names_of_pools(void **state)
{
	static const struct {
		const char *name;
		uint64_t size_bytes;
	} cases[] = {
		{ "hugepages-2048kB", 2 << 20 },
		{ "hugepages-1048576kB", 1 << 30 },
		{ "hugepages-64kB", 64 << 10 },
		{ "hugepages-0kB", 0 },
		{ "hugepages-kB", 0 },
		{ "hugepages-2048MB", 0 },
		{ "hugepages-2048kB.old", 0 },
		{ "hugepages-18446744073709551615kB", 0 },
		{ "pages-2048kB", 0 },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		uint64_t size_bytes = 0;

		assert_int_equal(
			hugepages_parse_name(&size_bytes, cases[i].name),
			cases[i].size_bytes != 0);
		assert_int_equal(size_bytes, cases[i].size_bytes);
	}
}

static void reads_pools_by_size_at_each_call(void **state)
{
	struct tree tree;
	struct hugepages_pools pools;
	struct report report;
	struct error err = { 0 };

	(void)state;
	tree_make(&tree);
	report_init(&report);
	put_pool(&tree, "hugepages-1048576kB", "2\n", "1\n", "0\n");
	put_pool(&tree, "hugepages-2048kB", "100\n", "36\n", "5\n");
	tree_dir(&tree, BASE "else");
	assert_int_equal(hugepages_init(&pools, tree.fd, NULL), 0);
	hugepages_read(&report, &pools, &err);
	assert_int_equal(report.hugepages_count, 2);
	assert_int_equal(report.hugepages[0].size_bytes, 2 << 20);
	assert_int_equal(report.hugepages[0].total, 100);
	assert_int_equal(report.hugepages[0].free, 36);
	assert_int_equal(report.hugepages[0].reserved, 5);
	assert_int_equal(report.hugepages[1].size_bytes, 1 << 30);
	assert_int_equal(report.hugepages[1].free, 1);
	tree_put(&tree, BASE "hugepages-2048kB/free_hugepages", "20\n");
	hugepages_read(&report, &pools, &err);
	assert_int_equal(report.hugepages[0].free, 20);
	assert_int_equal(err.code, 0);
	hugepages_fini(&pools);
	tree_fini(&tree);
}

static void omits_a_pool_that_cannot_be_read(void **state)
{
	struct tree tree;
	struct hugepages_pools pools;
	struct report report;
	struct error err = { 0 };

	(void)state;
	tree_make(&tree);
	report_init(&report);
	put_pool(&tree, "hugepages-2048kB", "100\n", "many\n", "5\n");
	assert_int_equal(hugepages_init(&pools, tree.fd, NULL), 0);
	hugepages_read(&report, &pools, &err);
	assert_int_equal(report.hugepages_count, 0);
	assert_string_equal(err.text, "'free_hugepages' is no number");
	hugepages_fini(&pools);
	tree_fini(&tree);
}

static void finds_no_pools_on_a_kernel_without_huge_pages(void **state)
{
	struct tree tree;
	struct hugepages_pools pools;

	(void)state;
	tree_make(&tree);
	assert_int_equal(hugepages_init(&pools, tree.fd, NULL), 0);
	assert_int_equal(pools.count, 0);
	hugepages_fini(&pools);
	tree_fini(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_the_names_of_pools),
		cmocka_unit_test(reads_pools_by_size_at_each_call),
		cmocka_unit_test(omits_a_pool_that_cannot_be_read),
		cmocka_unit_test(finds_no_pools_on_a_kernel_without_huge_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
