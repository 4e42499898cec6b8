#include "scheduler/cluster/node.h"

#include "kube/time.h"
#include "tests/unit/scheduler/given.h"

static const int64_t second = 1000000;
static const int64_t gib = INT64_C(1) << 30;

/* A node that offers 20 pages of 1 GiB, and 512 of 2 MiB. */
struct scene {
	struct interner *interner;
	struct node *node;
	struct pod *vm; /* wants 16 of the large pages */
};

static int setup(void **state)
{
	struct scene *s = xcalloc(1, sizeof(*s));

	s->interner = interner_new();
	s->node = given_node(s->interner,
		"{'metadata':{'name':'n'},'status':{'allocatable':{'cpu':'16',"
		"'memory':'64Gi','pods':'110','hugepages-1Gi':'20Gi',"
		"'hugepages-2Mi':'1Gi'}}}");
	s->vm = given_spec(s->interner,
		"{'containers':[{'resources':{'requests':{'cpu':'1','memory':"
		"'1Gi','hugepages-1Gi':'16Gi'}}}]}");
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	node_free(s->node);
	pod_free(s->vm);
	interner_free(s->interner);
	free(s);
	return 0;
}

/* A load of the second 100 with free pages of 1 GiB. */
static void measure(struct scene *s, uint64_t free, uint64_t reserved)
{
	struct node_load load = given_load(1, 0);

	load.hugepages_count = 1;
	load.hugepages[0] = (struct hugepages){ 1 << 30, 20, free, reserved };
	node_set_load(s->node, &load, 100 * second, 101 * second);
}

/* -1: not measured. */
static int64_t free_gib(const struct scene *s, const char *name)
{
	const struct node_resource *scalar =
		node_scalar(s->node, interner_find(s->interner, name));

	assert_non_null(scalar);
	return scalar->is_measured ? scalar->free_bytes / gib : -1;
}

static void pages_that_the_load_does_not_list_are_not_measured(void **state)
{
	struct scene *s = *state;
	struct node_load load = given_load(1, 0);

	assert_int_equal(free_gib(s, "hugepages-1Gi"), -1);
	measure(s, 12, 0);
	assert_int_equal(free_gib(s, "hugepages-1Gi"), 12);
	assert_int_equal(free_gib(s, "hugepages-2Mi"), -1);
	node_set_load(s->node, &load, 100 * second, 101 * second);
	assert_int_equal(free_gib(s, "hugepages-1Gi"), -1);
}

static void reserved_pages_are_not_free(void **state)
{
	struct scene *s = *state;

	measure(s, 12, 5);
	assert_int_equal(free_gib(s, "hugepages-1Gi"), 7);
}

static void a_pod_that_is_newer_than_the_load_takes_its_pages(void **state)
{
	struct scene *s = *state;

	measure(s, 20, 0);
	node_add_pod(s->node, s->vm, 102 * second);
	assert_int_equal(free_gib(s, "hugepages-1Gi"), 4);
	node_remove_pod(s->node, s->vm);
	assert_int_equal(free_gib(s, "hugepages-1Gi"), 20);
}

static void the_order_of_pod_and_load_does_not_matter(void **state)
{
	struct scene *s = *state;

	node_add_pod(s->node, s->vm, 102 * second);
	measure(s, 20, 0);
	assert_int_equal(free_gib(s, "hugepages-1Gi"), 4);
	node_remove_pod(s->node, s->vm);
	assert_int_equal(free_gib(s, "hugepages-1Gi"), 20);
}

static void the_load_shows_what_an_older_pod_holds(void **state)
{
	struct scene *s = *state;

	node_add_pod(s->node, s->vm, 99 * second);
	measure(s, 4, 0);
	assert_int_equal(free_gib(s, "hugepages-1Gi"), 4);
	node_remove_pod(s->node, s->vm);
	assert_int_equal(free_gib(s, "hugepages-1Gi"), 4);
	node_add_pod(s->node, s->vm, TIME_LONG_AGO);
	assert_int_equal(free_gib(s, "hugepages-1Gi"), 4);
}

static void a_search_frees_and_takes_pages_at_once(void **state)
{
	struct scene *s = *state;

	node_add_pod(s->node, s->vm, 99 * second);
	measure(s, 4, 0);
	node_vacate(s->node, s->vm);
	assert_int_equal(free_gib(s, "hugepages-1Gi"), 20);
	node_occupy(s->node, s->vm, 99 * second);
	assert_int_equal(free_gib(s, "hugepages-1Gi"), 4);
}

static void free_pages_outlast_a_change_of_the_node(void **state)
{
	struct scene *s = *state;
	struct json_value *object = given_json(
		"{'metadata':{'name':'n'},'status':{'allocatable':{"
		"'hugepages-1Gi':'24Gi','hugepages-64Ki':'1Gi'}}}");

	measure(s, 12, 0);
	assert_int_equal(node_update(s->node, object, NULL), 0);
	assert_int_equal(free_gib(s, "hugepages-1Gi"), 12);
	assert_int_equal(free_gib(s, "hugepages-64Ki"), -1);
	json_value_free(object);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(pages_that_the_load_does_not_list_are_not_measured),
		test(reserved_pages_are_not_free),
		test(a_pod_that_is_newer_than_the_load_takes_its_pages),
		test(the_order_of_pod_and_load_does_not_matter),
		test(the_load_shows_what_an_older_pod_holds),
		test(a_search_frees_and_takes_pages_at_once),
		test(free_pages_outlast_a_change_of_the_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
