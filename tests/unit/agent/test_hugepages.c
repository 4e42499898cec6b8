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

static void knows_the_names_of_pools(void **state)
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

static void reads_pools_by_size_each_time(void **state)
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
	hugepages_init(&pools, tree.fd);
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

static void leaves_out_what_it_cannot_read(void **state)
{
	struct tree tree;
	struct hugepages_pools pools;
	struct report report;
	struct error err = { 0 };

	(void)state;
	tree_make(&tree);
	report_init(&report);
	put_pool(&tree, "hugepages-2048kB", "100\n", "many\n", "5\n");
	hugepages_init(&pools, tree.fd);
	hugepages_read(&report, &pools, &err);
	assert_int_equal(report.hugepages_count, 0);
	assert_string_equal(err.text, "'free_hugepages' is no number");
	hugepages_fini(&pools);
	tree_fini(&tree);
}

static void a_kernel_without_huge_pages_has_no_pools(void **state)
{
	struct tree tree;
	struct hugepages_pools pools;

	(void)state;
	tree_make(&tree);
	hugepages_init(&pools, tree.fd);
	assert_int_equal(pools.count, 0);
	hugepages_fini(&pools);
	tree_fini(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_the_names_of_pools),
		cmocka_unit_test(reads_pools_by_size_each_time),
		cmocka_unit_test(leaves_out_what_it_cannot_read),
		cmocka_unit_test(a_kernel_without_huge_pages_has_no_pools),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
