#include "scheduler/plan/shortfall.h"

#include "tests/unit/scheduler/given.h"

static const char small_node[] =
	"{'metadata':{'name':'a'},'status':{'allocatable':{'cpu':'2','memory':"
	"'4Gi','pods':'1','nvidia.com/gpu':'1','ephemeral-storage':'10'}}}";
static const char wide_pod[] =
	"{'metadata':{'name':'p','namespace':'ns','uid':'u'},'spec':{"
	"'containers':[{'name':'c','resources':{'requests':{'cpu':'3',"
	"'memory':'5Gi','ephemeral-storage':'12','nvidia.com/gpu':'3',"
	"'example.com/disk':'1'}}}]}}";

struct fixture {
	struct interner *interner;
	struct node *node;
	struct pod *pod;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->interner = interner_new();
	f->node = given_node(f->interner, small_node);
	f->pod = given_pod(f->interner, wide_pod);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	pod_free(f->pod);
	node_free(f->node);
	interner_free(f->interner);
	free(f);
	return 0;
}

static double amount_of(const struct shortfall *shortfall,
	enum shortfall_kind kind, uint32_t resource)
{
	for (size_t i = 0; i < shortfall->count; i++) {
		if (shortfall->list[i].kind == kind &&
			shortfall->list[i].resource == resource) {
			return shortfall->list[i].amount;
		}
	}
	return 0;
}

static void all_that_a_node_lacks_is_counted(void **state)
{
	struct fixture *f = *state;
	struct filter_options options = { 0 };
	struct shortfall lacks;
	const struct resources *r = &f->pod->requests;

	shortfall_of(&lacks, f->pod, f->node, &options, 0);
	assert_int_equal(lacks.count, 5);
	assert_true(amount_of(&lacks, SHORTFALL_CPU, 0) == 1000);
	assert_true(amount_of(&lacks, SHORTFALL_MEMORY, 0) == 1 << 30);
	assert_true(amount_of(&lacks, SHORTFALL_EPHEMERAL, 0) == 2);
	assert_true(
		amount_of(&lacks, SHORTFALL_SCALAR, r->scalars[0].resource) +
			amount_of(&lacks, SHORTFALL_SCALAR,
				r->scalars[1].resource) ==
		2 + 1);
}

static void what_runs_there_already_takes_room(void **state)
{
	struct fixture *f = *state;
	struct filter_options options = { 0 };
	struct shortfall lacks;

	node_add_pod(f->node, f->pod, 0);
	shortfall_of(&lacks, f->pod, f->node, &options, 0);
	assert_int_equal(lacks.count, 6);
	assert_true(amount_of(&lacks, SHORTFALL_PODS, 0) == 1);
	assert_true(amount_of(&lacks, SHORTFALL_CPU, 0) == 4000);
}

static void measured_memory_counts_if_it_is_limited(void **state)
{
	struct fixture *f = *state;
	struct filter_options options = { 0 };
	struct node_load load = given_load(1, 62.0 * (1 << 30));
	struct shortfall lacks;
	int64_t now_us = 1000000;

	node_metrics_set(&f->node->metrics, &load, now_us);
	shortfall_of(&lacks, f->pod, f->node, &options, now_us);
	assert_true(amount_of(&lacks, SHORTFALL_USED, 0) <= 0);
	options.has_memory_limit = true;
	shortfall_of(&lacks, f->pod, f->node, &options, now_us);
	assert_true(amount_of(&lacks, SHORTFALL_USED, 0) == 3.0 * (1 << 30));
}

static void pages_that_others_hold_are_lacking(void **state)
{
	struct fixture *f = *state;
	struct node *node = given_node(f->interner,
		"{'metadata':{'name':'b'},'status':{'allocatable':{'memory':"
		"'4Gi','pods':'9','hugepages-1Gi':'20Gi'}}}");
	struct pod *pod = given_spec(f->interner,
		"{'containers':[{'resources':{'requests':{'hugepages-1Gi':"
		"'16Gi'}}}]}");
	struct filter_options options = { .has_hugepages_limit = true };
	struct node_load load = given_load(1, 0);
	struct shortfall lacks;

	load.hugepages_count = 1;
	load.hugepages[0] = (struct hugepages){ 1 << 30, 20, 13, 0 };
	node_set_load(node, &load, 1000000, 1000000);
	shortfall_of(&lacks, pod, node, &options, 1000000);
	assert_int_equal(lacks.count, 1);
	assert_true(
		amount_of(&lacks, SHORTFALL_SCALAR,
			pod->requests.scalars[0].resource) == 3.0 * (1 << 30));
	options.has_hugepages_limit = false;
	shortfall_of(&lacks, pod, node, &options, 1000000);
	assert_int_equal(lacks.count, 0);
	pod_free(pod);
	node_free(node);
}

static void a_vm_that_leaves_frees_what_it_requests(void **state)
{
	struct fixture *f = *state;
	struct filter_options options = { 0 };
	struct plan_vm vm = { .pod = f->pod };
	struct state_vm leaving = { .vm = &vm, .measured = 7 };
	struct shortfall lacks;

	node_add_pod(f->node, f->pod, 0);
	shortfall_of(&lacks, f->pod, f->node, &options, 0);
	for (size_t i = 0; i < lacks.count; i++) {
		static const double shares[] = {
			[SHORTFALL_PODS] = 1,
			[SHORTFALL_CPU] = 3000,
			[SHORTFALL_MEMORY] = 5.0 * (1 << 30),
			[SHORTFALL_EPHEMERAL] = 12,
		};
		double share = shortfall_share(&lacks, i, &leaving);

		if (lacks.list[i].kind != SHORTFALL_SCALAR) {
			assert_true(share == shares[lacks.list[i].kind]);
		} else {
			assert_true(share == 3 || share == 1);
		}
	}
	lacks.list[0].kind = SHORTFALL_USED;
	assert_true(shortfall_share(&lacks, 0, &leaving) == 7);
	lacks.list[0].kind = SHORTFALL_SCALAR;
	lacks.list[0].resource = UINT32_MAX;
	assert_true(shortfall_share(&lacks, 0, &leaving) == 0);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(all_that_a_node_lacks_is_counted),
		test(what_runs_there_already_takes_room),
		test(measured_memory_counts_if_it_is_limited),
		test(pages_that_others_hold_are_lacking),
		test(a_vm_that_leaves_frees_what_it_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
