/* The VMs that fit after moves, with real plans. */
#include "scheduler/make_room/room_fits.h"

#include "tests/unit/scheduler/make_room/fits_world.h"

enum { VMS_MAX = 8 };

static struct room_world world;
static struct room_fits fits;
static struct plan_vm vms[VMS_MAX];

/* Two nodes: "large" with 100 GiB and the VM "old" of 50 GiB, and "small" with
 * 60 GiB. */
static void given_two_nodes(const char *priority)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'launcher-old','namespace':'vms','uid':"
		"'old','labels':{'kubevirt.io':'virt-launcher',"
		"'kubevirt.io/created-by':'vmi-old'},'annotations':{"
		"'kubevirt.io/domain':'old'}},'spec':{'priority':%s,"
		"'containers':[{'name':'compute','resources':{'requests':{"
		"'cpu':'800m','memory':'50Gi','devices.kubevirt.io/kvm':'1'"
		"}}}]},'status':{'phase':'Running'}}",
		priority);
	struct node *large = world_add(&world,
		(struct room_node){ .name = "large",
			.cpu_milli = 64000,
			.memory_bytes = 100 * GIB });

	(void)world_add(&world,
		(struct room_node){ .name = "small",
			.cpu_milli = 64000,
			.memory_bytes = 60 * GIB });
	vms[0] = (struct plan_vm){
		.pod = given_pod(world.interner, json),
		.node = 0,
	};
	cluster_add_pod(&world.cluster, large, vms[0].pod, 0);
	world.input.vms = vms;
	world.input.vm_count = 1;
}

static void find(void)
{
	room_fits_init(&fits, world.interner, &launcher_settings_default);
	room_fits_find(&fits, &world.input);
	fits_tell(&fits);
	room_fits_fini(&fits);
}

static const struct room_kind *plain(void)
{
	return &fits.kinds[LAUNCHER_PLAIN];
}

static void a_vm_fits_after_a_move_that_the_message_names(void **state)
{
	const struct room_fit *fit = &plain()->fits[2];

	(void)state;
	given_two_nodes("0");
	find();
	assert_int_equal(fits.vms, 1);
	assert_int_equal(fit->size.vcpus, 16);
	assert_int_equal(fit->nodes, 0);
	assert_true(fit->fits_after_moves);
	assert_int_equal(fit->moves, 1);
	assert_string_equal(fit->message,
		"a plain VM of 16 vCPUs and 64 GiB fits on large after 1 move: "
		"vms/old to small");
}

static void the_largest_vm_after_a_move_fills_the_node(void **state)
{
	(void)state;
	given_two_nodes("0");
	find();
	/* 56 GiB of 60, then 96 of 100. */
	assert_int_equal(plain()->now.vcpus, 14);
	assert_string_equal(plain()->now.node, "small");
	assert_int_equal(plain()->after_moves.vcpus, 24);
	assert_int_equal(plain()->after_moves.moves, 1);
	assert_string_equal(plain()->after_moves.node, "large");
	assert_false(plain()->is_cut_off);
}

/* The cluster is as given_two_nodes() made it, and nothing moves. */
static void expect_no_move(void)
{
	find();
	assert_false(plain()->fits[2].fits_after_moves);
	assert_false(plain()->fits[2].is_cut_off);
	assert_int_equal(plain()->after_moves.vcpus, 14);
	assert_int_equal(plain()->after_moves.moves, 0);
}

static void a_vm_that_may_not_move_stays(void **state)
{
	scoped_buffer struct buffer text = BUFFER_MAX(1 << 16);
	struct json j = json_into(&text);

	(void)state;
	given_two_nodes("0");
	vms[0].why_not = "cannot be migrated: it has a local disk";
	expect_no_move();
	assert_true(*plain()->fits[2].message != '\0');
	json_object(&j, NULL);
	room_fits_write(&fits, &j);
	json_object_end(&j);
	assert_non_null(strstr(text.data,
		"\"fits_after_moves\":false,\"moves\":null,"));
}

static void a_vm_of_the_systems_priority_stays(void **state)
{
	(void)state;
	given_two_nodes("2000000000");
	expect_no_move();
}

static void a_vm_of_the_highest_priority_of_users_moves(void **state)
{
	(void)state;
	given_two_nodes("1000000000");
	find();
	assert_true(plain()->fits[2].fits_after_moves);
}

static void the_cluster_is_the_same_afterwards(void **state)
{
	const struct node *large, *small;

	(void)state;
	given_two_nodes("0");
	find();
	large = world.cluster.nodes[0];
	small = world.cluster.nodes[1];
	assert_int_equal(large->pod_count, 1);
	assert_int_equal(large->memory_bytes_requested, 50 * GIB);
	assert_int_equal(large->nonzero_bytes, 50 * GIB);
	assert_int_equal(small->pod_count, 0);
	assert_int_equal(small->memory_bytes_requested, 0);
	assert_int_equal(small->nonzero_bytes, 0);
	assert_int_equal(small->cpu_milli_requested, 0);
}

static int set_up(void **state)
{
	(void)state;
	memset(vms, 0, sizeof(vms));
	world_init(&world, interner_new());
	return 0;
}

static int tear_down(void **state)
{
	assert_golden_told(GOLDEN_PROGRAM, *state);
	world_fini(&world);
	for (size_t i = 0; i < VMS_MAX; i++) {
		pod_free(vms[i].pod);
	}
	interner_free(world.interner);
	return 0;
}

#define TEST(name) golden_test(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_vm_fits_after_a_move_that_the_message_names),
		TEST(the_largest_vm_after_a_move_fills_the_node),
		TEST(a_vm_that_may_not_move_stays),
		TEST(a_vm_of_the_systems_priority_stays),
		TEST(a_vm_of_the_highest_priority_of_users_moves),
		TEST(the_cluster_is_the_same_afterwards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
