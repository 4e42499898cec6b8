/* NUMA nodes: their pools of huge pages, and the memory of the machine. */
#include "agent/numa.h"

#include "tests/unit/agent/fixture.h"

#define NODES "devices/system/node/"

static struct tree tree;

static int setup(void **state)
{
	(void)state;
	tree_make(&tree);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tree_fini(&tree);
	return 0;
}

static void put_pool(const char *node, const char *pool, const char *total,
	const char *free)
{
	scoped_free char *nr =
		xasprintf(NODES "%s/hugepages/%s/nr_hugepages", node, pool);
	scoped_free char *rest =
		xasprintf(NODES "%s/hugepages/%s/free_hugepages", node, pool);

	tree_put(&tree, nr, total);
	tree_put(&tree, rest, free);
}

static void reads_the_pools_of_each_numa_node(void **state)
{
	struct error err = { 0 };
	struct report r;
	uint64_t seen = 0;

	(void)state;
	put_pool("node0", "hugepages-2048kB", "8\n", "3\n");
	put_pool("node1", "hugepages-2048kB", "16\n", "16\n");
	put_pool("node1", "hugepages-1048576kB", "1\n", "0\n");
	tree_dir(&tree, NODES "power/hugepages/hugepages-2048kB");
	report_init(&r);
	numa_read_hugepages(&r, tree.fd, &err);
	assert_int_equal(r.numa_hugepages_count, 3);
	for (size_t i = 0; i < r.numa_hugepages_count; i++) {
		const struct numa_hugepages *h = &r.numa_hugepages[i];

		seen += h->total << (8 * h->numa_node +
				(h->size_bytes == 1 << 30 ? 16 : 0));
		assert_true(h->free ==
			(h->total == 8			 ? 3U
					: h->total == 16 ? 16U
							 : 0U));
	}
	assert_int_equal(seen, 8 | 16 << 8 | 1 << 24);
	assert_int_equal(err.code, 0);
}

static void omits_a_pool_whose_file_holds_no_number(void **state)
{
	struct error err = { 0 };
	struct report r;

	(void)state;
	put_pool("node0", "hugepages-2048kB", "many\n", "3\n");
	report_init(&r);
	numa_read_hugepages(&r, tree.fd, &err);
	assert_int_equal(r.numa_hugepages_count, 0);
	assert_true(err.code < 0);
}

static void reports_no_pools_on_a_machine_without_numa_nodes(void **state)
{
	struct error err = { 0 };
	struct report r;

	(void)state;
	report_init(&r);
	numa_read_hugepages(&r, tree.fd, &err);
	assert_int_equal(r.numa_hugepages_count, 0);
	assert_int_equal(err.code, 0);
	assert_true(numa_memory_bytes(tree.fd) == REPORT_UNKNOWN);
}

static void adds_the_memory_of_all_numa_nodes(void **state)
{
	(void)state;
	tree_put(&tree, NODES "node0/meminfo",
		"Node 0 MemTotal:        1000 kB\nNode 0 MemFree: 5 kB\n");
	tree_put(&tree, NODES "node1/meminfo",
		"Node 1 MemTotal:        24 kB\n");
	assert_int_equal(numa_memory_bytes(tree.fd), 1024 * 1024);
}

static void rejects_other_lines_as_a_node_s_memory(void **state)
{
	static const char *const texts[] = { "", "MemTotal: 5 kB\n",
		"Node x MemTotal: 5 kB\n", "Node 0 MemTotal: 5 MB\n",
		"Node 0 MemTotal: -5 kB\n", "Node 0 MemFree: 5 kB\n",
		"Node 0 MemTotal: 99999999999999999999 kB\n",
		"Node 0 MemTotal: 18446744073709551615 kB\n" };
	uint64_t bytes = 7;

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		assert_false(numa_parse_memory(&bytes, texts[i]));
	}
	assert_int_equal(bytes, 7);
}

#define NUMA_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NUMA_TEST(reads_the_pools_of_each_numa_node),
		NUMA_TEST(omits_a_pool_whose_file_holds_no_number),
		NUMA_TEST(reports_no_pools_on_a_machine_without_numa_nodes),
		NUMA_TEST(adds_the_memory_of_all_numa_nodes),
		NUMA_TEST(rejects_other_lines_as_a_node_s_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
