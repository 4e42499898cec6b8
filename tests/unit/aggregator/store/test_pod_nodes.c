#include "aggregator/store/pod_nodes.h"

#include "tests/unit/aggregator/store/fixture.h"

static void deletes_pods_without_data(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;
	struct pod_nodes *pod_nodes;
	struct store_identity old = { .pod_uid = "pod-1", .name = "a" };
	struct store_identity young = { .pod_uid = "pod-2", .name = "b" };
	struct store_identity gone = { .pod_uid = "pod-3", .name = "c" };

	old.namespace = young.namespace = gone.namespace = "ns";
	old.vmi_uid = young.vmi_uid = gone.vmi_uid = "";
	assert_int_equal(pod_nodes_new(&pod_nodes, f->db, NULL), 0);
	assert_int_equal(
		pod_nodes_identify(pod_nodes, &old, f->node, base_ms, NULL), 0);
	assert_int_equal(
		pod_nodes_identify(pod_nodes, &young, f->node, base_ms, NULL),
		0);
	assert_int_equal(
		pod_nodes_identify(pod_nodes, &gone, f->node, base_ms, NULL),
		0);
	/* pod-1 was identified long ago and ran until now. */
	assert_int_equal(pod_nodes_note(pod_nodes,
				 &(struct pod_node_seen){ "pod-1", f->node,
					 base_ms, f->now_ms },
				 NULL),
		0);
	assert_int_equal(
		pod_nodes_identify(pod_nodes, &young, 0, f->now_ms, NULL), 0);
	pod_nodes_free(pod_nodes);
	assert_int_equal(pod_nodes_delete(f->db, base_ms + 1, NULL), 0);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM place"), 1);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM identity"), 2);
	assert_int_equal(
		fixture_number(f,
			"SELECT count(*) FROM identity WHERE name = 'c'"),
		0);
}

static void keeps_the_stated_node(void **state)
{
	struct fixture *f = *state;
	const struct store_identity pod = { .pod_uid = "pod-1",
		.namespace = "ns",
		.name = "a",
		.vmi_uid = "" };
	static const char node[] = "SELECT node FROM identity";
	struct pod_nodes *pod_nodes;
	/* Stated before the pod had a node, then with it, then without. */
	static const int64_t stated[] = { 0, 5, 0 }, kept[] = { 0, 5, 5 };

	assert_int_equal(pod_nodes_new(&pod_nodes, f->db, NULL), 0);
	for (size_t i = 0; i < count_of(stated); i++) {
		assert_int_equal(pod_nodes_identify(pod_nodes, &pod, stated[i],
					 f->now_ms, NULL),
			0);
		assert_int_equal(fixture_number(f, node), kept[i]);
	}
	pod_nodes_free(pod_nodes);
}

/* A node that goes on to report a pod of another node keeps nothing. */
static void deletes_an_identity_without_data_of_its_node(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;
	const struct store_identity pod = { .pod_uid = "pod-1",
		.namespace = "ns",
		.name = "a",
		.vmi_uid = "" };
	const struct pod_node_seen claim = { "pod-1", f->node + 1, base_ms,
		f->now_ms };
	struct pod_nodes *pod_nodes;

	assert_int_equal(pod_nodes_new(&pod_nodes, f->db, NULL), 0);
	assert_int_equal(
		pod_nodes_identify(pod_nodes, &pod, f->node, base_ms, NULL), 0);
	assert_int_equal(pod_nodes_note(pod_nodes, &claim, NULL), 0);
	pod_nodes_free(pod_nodes);
	assert_int_equal(pod_nodes_delete(f->db, base_ms + 1, NULL), 0);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM identity"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(deletes_pods_without_data),
		fixture_test(keeps_the_stated_node),
		fixture_test(deletes_an_identity_without_data_of_its_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
