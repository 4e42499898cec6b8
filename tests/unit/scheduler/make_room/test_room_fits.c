#include "scheduler/make_room/room_fits.h"

#include <stdio.h>

#include "tests/unit/scheduler/make_room/fits_world.h"

enum { CALLS_MAX = 64 };

/* Stands in for the search for plans. */
static struct {
	unsigned fits_up_to; /* vCPUs; 0: nothing fits after moves */
	bool is_cut_off;
	unsigned cut_off_at; /* vCPUs; 0: none */
	uint64_t spends;     /* of each search's max_work; 0: all of it */
	unsigned calls;
	int64_t milli[CALLS_MAX];
	uint64_t max_work[CALLS_MAX];
	int32_t priority;
} plans;

static unsigned vcpus_of(const struct pod *pod)
{
	return (unsigned)(pod->requests.cpu_milli -
		       (pod->is_dedicated ? 15 : 5)) /
		(pod->is_dedicated ? 1000 : 100);
}

void plan_find(struct plan *out, const struct plan_input *input,
	const struct plan_goal *goal)
{
	unsigned vcpus = vcpus_of(goal->pod);

	assert_int_equal(goal->kind, PLAN_POD_FITS);
	assert_true(plans.calls < CALLS_MAX);
	plans.milli[plans.calls] = goal->pod->requests.cpu_milli;
	plans.max_work[plans.calls++] = input->max_work;
	plans.priority = goal->pod->priority;
	*out = (struct plan){
		.is_found = vcpus <= plans.fits_up_to,
		.moves = 2,
		.node = (ptrdiff_t)input->cluster->count - 1,
		.work = plans.spends != 0 ? plans.spends : input->max_work,
		.is_cut_off = plans.is_cut_off || vcpus == plans.cut_off_at,
	};
	(void)snprintf(out->sentence, sizeof(out->sentence),
		"/~ has a plan with %u vCPUs", vcpus);
}

void plan_fini(struct plan *plan)
{
	*plan = (struct plan){ 0 };
}

static struct room_world world;
static struct room_fits fits;

static void find(void)
{
	room_fits_init(&fits, world.interner, &launcher_settings_default);
	room_fits_find(&fits, &world.input);
	fits_tell(&fits);
	room_fits_fini(&fits);
}

static const struct room_fit *fit_of(enum launcher_kind kind, unsigned vcpus)
{
	for (size_t i = 0; i < ROOM_SHAPES; i++) {
		if (fits.kinds[kind].fits[i].size.vcpus == vcpus) {
			return &fits.kinds[kind].fits[i];
		}
	}
	fail();
	return NULL;
}

/* Whether 16/64 of this kind fits on a cluster of this node. */
static bool fits_on(struct room_node node, enum launcher_kind kind)
{
	bool is_fitting;

	world_init(&world, interner_new());
	(void)world_add(&world, node);
	find();
	is_fitting = fit_of(kind, 16)->nodes == 1;
	assert_int_equal(fit_of(kind, 16)->copies, is_fitting);
	world_fini(&world);
	interner_free(world.interner);
	return is_fitting;
}

static void a_vm_fits_down_to_the_last_byte(void **state)
{
	struct room_node node = { .name = "n",
		.cpu_milli = 1605,
		.memory_bytes = 64 * GIB + LAUNCHER_BYTES(16) };

	(void)state;
	assert_true(fits_on(node, LAUNCHER_PLAIN));
	node.memory_bytes--;
	assert_false(fits_on(node, LAUNCHER_PLAIN));
	node.memory_bytes++;
	node.cpu_milli--;
	assert_false(fits_on(node, LAUNCHER_PLAIN));
}

static void a_vm_with_huge_pages_needs_them_and_little_memory(void **state)
{
	struct room_node node = { .name = "n",
		.cpu_milli = 1605,
		.memory_bytes = LAUNCHER_BYTES(16),
		.pages_2mi = 64 * GIB,
		.pages_1gi = 64 * GIB - 1 };

	(void)state;
	assert_true(fits_on(node, LAUNCHER_HUGE_2MI));
	assert_false(fits_on(node, LAUNCHER_HUGE_1GI));
	node.pages_1gi++;
	assert_true(fits_on(node, LAUNCHER_HUGE_1GI));
	assert_false(fits_on(node, LAUNCHER_PLAIN));
	node.memory_bytes--;
	assert_false(fits_on(node, LAUNCHER_HUGE_2MI));
}

static void dedicated_cpus_are_whole_and_the_sidecar_needs_more(void **state)
{
	struct room_node node = { .name = "n",
		.cpu_milli = 16015,
		.memory_bytes = 65 * GIB,
		.is_for_dedicated = true };

	(void)state;
	assert_true(fits_on(node, LAUNCHER_DEDICATED));
	node.cpu_milli = 16014;
	assert_false(fits_on(node, LAUNCHER_DEDICATED));
}

static void kinds_that_no_node_offers_say_so_without_a_search(void **state)
{
	static const char *const messages[LAUNCHER_KINDS] = {
		[LAUNCHER_PLAIN] = "",
		[LAUNCHER_HUGE_2MI] = "no node offers hugepages-2Mi",
		[LAUNCHER_HUGE_1GI] = "no node offers hugepages-1Gi",
		[LAUNCHER_DEDICATED] =
			"no node for VMs has the label "
			"kubevirt.io/cpumanager=true",
	};

	(void)state;
	(void)world_add(&world,
		(struct room_node){ .name = "n",
			.cpu_milli = 64000,
			.memory_bytes = 600 * GIB });
	find();
	for (size_t i = 0; i < LAUNCHER_KINDS; i++) {
		assert_string_equal(fits.kinds[i].message, messages[i]);
	}
	assert_int_equal(fit_of(LAUNCHER_PLAIN, 16)->nodes, 1);
	assert_int_equal(plans.calls, 0);
}

static void a_cluster_without_a_node_for_vms_says_so(void **state)
{
	(void)state;
	find();
	assert_string_equal(fits.kinds[LAUNCHER_PLAIN].message,
		"no node has the label kubevirt.io/schedulable=true");
	(void)world_add(&world,
		(struct room_node){ .name = "n",
			.cpu_milli = 64000,
			.memory_bytes = 600 * GIB,
			.is_not_for_vms = true });
	find();
	assert_string_equal(fits.kinds[LAUNCHER_PLAIN].message,
		"no node has the label kubevirt.io/schedulable=true");
	assert_int_equal(fits.nodes, 1);
}

static void a_node_without_kvm_offers_no_vm(void **state)
{
	(void)state;
	cluster_add_node(&world.cluster,
		given_node(world.interner,
			"{'metadata':{'name':'n','labels':{"
			"'kubevirt.io/schedulable':'true'}},'status':{"
			"'allocatable':{'cpu':'64','memory':'600Gi',"
			"'ephemeral-storage':'1Ti','pods':'110'}}}"));
	find();
	assert_string_equal(fits.kinds[LAUNCHER_PLAIN].message,
		"no node offers KubeVirt's devices kvm, tun and vhost-net");
}

static void counts_nodes_and_copies_by_the_scarcest_resource(void **state)
{
	(void)state;
	(void)world_add(&world,
		(struct room_node){ .name = "two-by-cpu",
			.cpu_milli = 405 + 405 + 404,
			.memory_bytes = 600 * GIB });
	(void)world_add(&world,
		(struct room_node){ .name = "three-by-memory",
			.cpu_milli = 64000,
			.memory_bytes = 3 * (16 * GIB + LAUNCHER_BYTES(4)) });
	(void)world_add(&world,
		(struct room_node){ .name = "four-by-pods",
			.cpu_milli = 64000,
			.memory_bytes = 600 * GIB,
			.pods = 4 });
	(void)world_add(&world, (struct room_node){ .name = "none" });
	find();
	assert_int_equal(fit_of(LAUNCHER_PLAIN, 4)->nodes, 3);
	assert_int_equal(fit_of(LAUNCHER_PLAIN, 4)->copies, 2 + 3 + 4);
	assert_string_equal(fit_of(LAUNCHER_PLAIN, 4)->message,
		"fits on 3 nodes now");
}

static void counts_no_more_than_a_thousand_copies(void **state)
{
	static const char *const names[] = { "a", "b", "c" };

	(void)state;
	for (size_t i = 0; i < count_of(names); i++) {
		(void)world_add(&world,
			(struct room_node){ .name = names[i],
				.cpu_milli = 1000000,
				.memory_bytes = 100000 * GIB,
				.pods = 700 });
	}
	find();
	assert_int_equal(fit_of(LAUNCHER_PLAIN, 4)->nodes, 3);
	assert_int_equal(fit_of(LAUNCHER_PLAIN, 4)->copies, 1000);
}

static void a_place_that_is_held_for_another_pod_is_not_free(void **state)
{
	struct pod *pod = given_pod(world.interner,
		"{'metadata':{'name':'p','namespace':'ns','uid':'u'},'spec':{"
		"'containers':[{'name':'c','resources':{'requests':{"
		"'memory':'1'}}}]},'status':{'nominatedNodeName':'n'}}");

	(void)state;
	(void)world_add(&world,
		(struct room_node){ .name = "n",
			.cpu_milli = 64000,
			.memory_bytes = 2 * (16 * GIB + LAUNCHER_BYTES(4)) });
	cluster_add_nominated(&world.cluster, pod);
	find();
	assert_int_equal(fit_of(LAUNCHER_PLAIN, 4)->copies, 1);
	cluster_remove_nominated(&world.cluster, pod);
	find();
	assert_int_equal(fit_of(LAUNCHER_PLAIN, 4)->copies, 2);
	pod_free(pod);
}

static void memory_that_is_used_is_not_free(void **state)
{
	struct node_load load = given_load(1, 64.0 * (1 << 30));
	struct node *node = world_add(&world,
		(struct room_node){ .name = "n",
			.cpu_milli = 64000,
			.memory_bytes = 200 * GIB });

	(void)state;
	load.memory_available_bytes = 40.0 * (1 << 30);
	node_set_load(node, &load, world.input.now_us, world.input.now_us);
	find();
	assert_int_equal(fit_of(LAUNCHER_PLAIN, 4)->copies, 2);
	assert_int_equal(fit_of(LAUNCHER_PLAIN, 16)->nodes, 0);
}

static void finds_the_largest_vm_that_fits_now(void **state)
{
	(void)state;
	(void)world_add(&world,
		(struct room_node){ .name = "c",
			.cpu_milli = 64000,
			.memory_bytes = 148 * GIB + LAUNCHER_BYTES(37) });
	(void)world_add(&world,
		(struct room_node){ .name = "b",
			.cpu_milli = 64000,
			.memory_bytes = 148 * GIB + LAUNCHER_BYTES(37) });
	(void)world_add(&world,
		(struct room_node){ .name = "a",
			.cpu_milli = 64000,
			.memory_bytes = 148 * GIB + LAUNCHER_BYTES(37) - 1 });
	find();
	assert_int_equal(fits.kinds[LAUNCHER_PLAIN].now.vcpus, 37);
	assert_string_equal(fits.kinds[LAUNCHER_PLAIN].now.node, "b");
	assert_int_equal(fits.kinds[LAUNCHER_PLAIN].after_moves.vcpus, 37);
	assert_int_equal(fits.kinds[LAUNCHER_PLAIN].after_moves.moves, 0);
}

/* A node of 128 GiB with a pod that requests so much. */
static void given_full_node(const char *bytes, struct pod **filler)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'f','namespace':'ns','uid':'f'},'spec':{"
		"'containers':[{'name':'c','resources':{'requests':{"
		"'memory':'%s'}}}]}}",
		bytes);
	struct node *node = world_add(&world,
		(struct room_node){ .name = "full",
			.cpu_milli = 64000,
			.memory_bytes = 128 * GIB });

	*filler = given_pod(world.interner, json);
	cluster_add_pod(&world.cluster, node, *filler, 0);
}

static void a_shape_that_fits_after_moves_has_the_plan_in_words(void **state)
{
	struct pod *filler;

	(void)state;
	given_full_node("100Gi", &filler);
	plans.fits_up_to = 8;
	find();
	assert_true(fit_of(LAUNCHER_PLAIN, 4)->fits_after_moves);
	assert_int_equal(fit_of(LAUNCHER_PLAIN, 4)->moves, 0);
	assert_string_equal(fit_of(LAUNCHER_PLAIN, 4)->message,
		"fits on 1 node now");
	assert_int_equal(fit_of(LAUNCHER_PLAIN, 8)->nodes, 0);
	assert_true(fit_of(LAUNCHER_PLAIN, 8)->fits_after_moves);
	assert_int_equal(fit_of(LAUNCHER_PLAIN, 8)->moves, 2);
	assert_string_equal(fit_of(LAUNCHER_PLAIN, 8)->message,
		"a plain VM of 8 vCPUs and 32 GiB has a plan with 8 vCPUs");
	assert_false(fit_of(LAUNCHER_PLAIN, 16)->fits_after_moves);
	assert_string_equal(fit_of(LAUNCHER_PLAIN, 16)->message,
		"a plain VM of 16 vCPUs and 64 GiB has a plan with 16 vCPUs");
	/* No search for what fits now. */
	for (unsigned i = 0; i < plans.calls; i++) {
		assert_true(plans.milli[i] > 6 * 100 + 5);
	}
	/* Above all PriorityClasses of users. */
	assert_true(plans.priority > 1000000000);
	pod_free(filler);
}

static void finds_the_largest_vm_after_moves(void **state)
{
	struct pod *filler;

	(void)state;
	given_full_node("100Gi", &filler);
	for (unsigned vcpus = 8; vcpus <= 30; vcpus++) {
		plans.calls = 0;
		plans.fits_up_to = vcpus;
		find();
		assert_int_equal(fits.kinds[LAUNCHER_PLAIN].now.vcpus, 6);
		assert_int_equal(fits.kinds[LAUNCHER_PLAIN].after_moves.vcpus,
			vcpus);
		assert_int_equal(fits.kinds[LAUNCHER_PLAIN].after_moves.moves,
			2);
		assert_string_equal(fits.kinds[LAUNCHER_PLAIN].after_moves.node,
			"full");
		assert_false(fits.kinds[LAUNCHER_PLAIN].is_cut_off);
		/* Two shapes, and the sizes between two of 8, 16 and 32. */
		assert_true(plans.calls <= 2 + 4);
	}
	pod_free(filler);
}

static void looks_for_no_plan_for_what_no_empty_node_holds(void **state)
{
	struct pod *filler;

	(void)state;
	given_full_node("100Gi", &filler);
	plans.fits_up_to = 1000;
	find();
	assert_int_equal(fits.kinds[LAUNCHER_PLAIN].after_moves.vcpus, 31);
	for (unsigned i = 0; i < plans.calls; i++) {
		assert_true(plans.milli[i] <= 31 * 100 + 5);
	}
	pod_free(filler);
}

static void tells_that_searches_were_cut_off(void **state)
{
	struct pod *filler;

	(void)state;
	given_full_node("120Gi", &filler);
	plans.is_cut_off = true;
	find();
	assert_true(fit_of(LAUNCHER_PLAIN, 16)->is_cut_off);
	assert_false(fit_of(LAUNCHER_PLAIN, 16)->fits_after_moves);
	assert_true(fits.kinds[LAUNCHER_PLAIN].is_cut_off);
	/* A plan that was found is one. */
	plans.fits_up_to = 1000;
	find();
	assert_false(fit_of(LAUNCHER_PLAIN, 16)->is_cut_off);
	assert_false(fits.kinds[LAUNCHER_PLAIN].is_cut_off);
	pod_free(filler);
}

static void a_smaller_vm_whose_search_was_cut_off_counts(void **state)
{
	static const struct {
		unsigned fits_up_to, cut_off_at;
		bool is_cut_off;
	} cases[] = {
		{ 7, 8, true },	  /* of the shapes, and no other search fails */
		{ 6, 7, true },	  /* of the sizes between them */
		{ 7, 16, false }, /* 8 is known not to fit */
		{ 7, 9, false },
	};
	struct pod *filler;

	(void)state;
	given_full_node("100Gi", &filler);
	for (size_t i = 0; i < count_of(cases); i++) {
		plans.calls = 0;
		plans.fits_up_to = cases[i].fits_up_to;
		plans.cut_off_at = cases[i].cut_off_at;
		find();
		assert_int_equal(fits.kinds[LAUNCHER_PLAIN].after_moves.vcpus,
			cases[i].fits_up_to);
		assert_int_equal(fits.kinds[LAUNCHER_PLAIN].is_cut_off,
			cases[i].is_cut_off);
	}
	pod_free(filler);
}

static void looks_for_no_plan_for_more_pages_than_a_node_has(void **state)
{
	struct pod *filler = given_pod(world.interner,
		"{'metadata':{'name':'f','namespace':'ns','uid':'f'},'spec':{"
		"'containers':[{'name':'c','resources':{'requests':{"
		"'hugepages-2Mi':'40Gi','memory':'1'}}}]}}");
	struct node *node = world_add(&world,
		(struct room_node){ .name = "n",
			.cpu_milli = 64000,
			.memory_bytes = 600 * GIB,
			.pages_2mi = 40 * GIB });

	(void)state;
	cluster_add_pod(&world.cluster, node, filler, 0);
	plans.fits_up_to = 15;
	find();
	assert_int_equal(fits.kinds[LAUNCHER_HUGE_2MI].now.vcpus, 0);
	assert_int_equal(fits.kinds[LAUNCHER_HUGE_2MI].after_moves.vcpus, 10);
	pod_free(filler);
}

static void given_full_node_for_all_kinds(struct pod **filler)
{
	struct node *node = world_add(&world,
		(struct room_node){ .name = "n",
			.cpu_milli = 129000,
			.memory_bytes = 600 * GIB,
			.pages_2mi = 600 * GIB,
			.pages_1gi = 600 * GIB,
			.is_for_dedicated = true });

	*filler = given_pod(world.interner,
		"{'metadata':{'name':'f','namespace':'ns','uid':'f'},'spec':{"
		"'containers':[{'name':'c','resources':{'requests':{"
		"'cpu':'129'}}}]}}");
	cluster_add_pod(&world.cluster, node, *filler, 0);
}

static void all_searches_together_stay_within_the_work(void **state)
{
	struct pod *filler;
	uint64_t spent = 0;

	(void)state;
	given_full_node_for_all_kinds(&filler);
	find();
	for (unsigned i = 0; i < plans.calls; i++) {
		assert_true(plans.max_work[i] > 0);
		spent += plans.max_work[i];
	}
	assert_true(spent <= ROOM_WORK);
	assert_true(plans.calls >= LAUNCHER_KINDS * ROOM_SHAPES);

	/* Cheap searches leave more for the later ones. */
	plans.calls = 0;
	plans.spends = 1;
	plans.fits_up_to = 128;
	find();
	assert_true(plans.max_work[plans.calls - 1] > plans.max_work[0]);
	pod_free(filler);
}

static void a_search_that_is_stopped_looks_for_no_plan(void **state)
{
	atomic_bool stop = true;
	struct pod *filler;

	(void)state;
	given_full_node("100Gi", &filler);
	plans.fits_up_to = 1000;
	world.input.stop = &stop;
	find();
	assert_int_equal(plans.calls, 0);
	assert_true(fit_of(LAUNCHER_PLAIN, 16)->is_cut_off);
	assert_string_equal(fit_of(LAUNCHER_PLAIN, 16)->message,
		"there was no time to look for moves");
	pod_free(filler);
}

static void the_answer_has_fields_in_a_stable_order(void **state)
{
	scoped_buffer struct buffer text = BUFFER_MAX(1 << 16);
	struct json j = json_into(&text);

	(void)state;
	(void)world_add(&world,
		(struct room_node){ .name = "n",
			.cpu_milli = 64000,
			.memory_bytes = 4 * (16 * GIB + LAUNCHER_BYTES(4)) });
	find();
	json_object(&j, NULL);
	room_fits_write(&fits, &j);
	json_object_end(&j);
	assert_string_equal(text.data,
		"{\"nodes\":1,\"vms\":0,\"max_moves\":3,"
		"\"cpu_allocation_ratio\":10,\"memory_overcommit\":100,"
		"\"kinds\":[{\"kind\":\"plain\",\"offered\":true,"
		"\"message\":\"\",\"shapes\":["
		"{\"vcpus\":4,\"memory_gib\":16,\"fits_now\":true,\"nodes\":1,"
		"\"copies\":4,\"fits_after_moves\":true,\"moves\":0,"
		"\"cut_off\":false,\"message\":\"fits on 1 node now\"},"
		"{\"vcpus\":8,\"memory_gib\":32,\"fits_now\":true,\"nodes\":1,"
		"\"copies\":2,\"fits_after_moves\":true,\"moves\":0,"
		"\"cut_off\":false,\"message\":\"fits on 1 node now\"},"
		"{\"vcpus\":16,\"memory_gib\":64,\"fits_now\":true,\"nodes\":1,"
		"\"copies\":1,\"fits_after_moves\":true,\"moves\":0,"
		"\"cut_off\":false,\"message\":\"fits on 1 node now\"}],"
		"\"largest_now\":{\"vcpus\":16,\"memory_gib\":64,"
		"\"node\":\"n\",\"moves\":0},"
		"\"largest_after_moves\":{\"vcpus\":16,\"memory_gib\":64,"
		"\"node\":\"n\",\"moves\":0},\"cut_off\":false},"
		"{\"kind\":\"hugepages-2Mi\",\"offered\":false,"
		"\"message\":\"no node offers hugepages-2Mi\",\"shapes\":[],"
		"\"largest_now\":null,\"largest_after_moves\":null,"
		"\"cut_off\":false},"
		"{\"kind\":\"hugepages-1Gi\",\"offered\":false,"
		"\"message\":\"no node offers hugepages-1Gi\",\"shapes\":[],"
		"\"largest_now\":null,\"largest_after_moves\":null,"
		"\"cut_off\":false},"
		"{\"kind\":\"dedicated-cpus\",\"offered\":false,"
		"\"message\":\"no node for VMs has the label "
		"kubevirt.io/cpumanager=true\",\"shapes\":[],"
		"\"largest_now\":null,\"largest_after_moves\":null,"
		"\"cut_off\":false}]}");
}

static int set_up(void **state)
{
	(void)state;
	memset(&plans, 0, sizeof(plans));
	world_init(&world, interner_new());
	return 0;
}

static int tear_down(void **state)
{
	assert_golden_told(GOLDEN_PROGRAM, *state);
	world_fini(&world);
	interner_free(world.interner);
	return 0;
}

static int forget_plans(void **state)
{
	(void)state;
	memset(&plans, 0, sizeof(plans));
	return 0;
}

#define TEST(name) golden_test(name, set_up, tear_down)
#define TEST_OF_WORLDS(name) golden_test(name, forget_plans, golden_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_OF_WORLDS(a_vm_fits_down_to_the_last_byte),
		TEST_OF_WORLDS(
			a_vm_with_huge_pages_needs_them_and_little_memory),
		TEST_OF_WORLDS(
			dedicated_cpus_are_whole_and_the_sidecar_needs_more),
		TEST(kinds_that_no_node_offers_say_so_without_a_search),
		TEST(a_cluster_without_a_node_for_vms_says_so),
		TEST(a_node_without_kvm_offers_no_vm),
		TEST(counts_nodes_and_copies_by_the_scarcest_resource),
		TEST(counts_no_more_than_a_thousand_copies),
		TEST(a_place_that_is_held_for_another_pod_is_not_free),
		TEST(memory_that_is_used_is_not_free),
		TEST(finds_the_largest_vm_that_fits_now),
		TEST(a_shape_that_fits_after_moves_has_the_plan_in_words),
		TEST(finds_the_largest_vm_after_moves),
		TEST(looks_for_no_plan_for_what_no_empty_node_holds),
		TEST(tells_that_searches_were_cut_off),
		TEST(a_smaller_vm_whose_search_was_cut_off_counts),
		TEST(looks_for_no_plan_for_more_pages_than_a_node_has),
		TEST(all_searches_together_stay_within_the_work),
		TEST(a_search_that_is_stopped_looks_for_no_plan),
		TEST(the_answer_has_fields_in_a_stable_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
