/* All of the room with real reflectors, against a fake API server. */
#include "scheduler/kubevirt/kubevirt.h"

#include "scheduler/cluster/cluster.h"
#include "tests/unit/scheduler/given.h"
#include "tests/unit/scheduler/kubevirt/fake_requests.h"

#define GROUP "/apis/kubevirt.io/v1/"
#define VMIS GROUP "virtualmachineinstances"
#define MIGRATIONS GROUP "virtualmachineinstancemigrations"
#define KUBEVIRTS GROUP "kubevirts"
#define POLICIES "/apis/migrations.kubevirt.io/v1alpha1/migrationpolicies"
#define REVIEWS "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
#define ORDERS GROUP "namespaces/vms/virtualmachineinstancemigrations"
#define YES "{\"status\":{\"allowed\":true}}"

static struct {
	struct interner *interner;
	struct cluster cluster;
	struct kubevirt *kubevirt;
	struct buffer calls;
} world;

static void on_migration(void *owner, const struct migration *migration,
	const struct vmi *vmi)
{
	(void)owner;
	buffer_printf(&world.calls, "%s %d %s;", migration->name,
		(int)migration->phase,
		vmi == NULL ? "gone" : vmi_last_migration(vmi)->failure_reason);
}

static void on_migration_gone(void *owner, const struct migration *migration)
{
	(void)owner;
	buffer_printf(&world.calls, "%s gone;", migration->name);
}

static void on_ordered(void *owner, const char *move_id, const char *name,
	const char *error)
{
	(void)owner;
	buffer_printf(&world.calls, "%s is %s: %s;", move_id, name, error);
}

static void expect_calls(const char *expected)
{
	assert_string_equal(world.calls.data == NULL ? "" : world.calls.data,
		expected);
	buffer_clear(&world.calls);
}

static int setup(void **state)
{
	struct kubevirt_options options = {
		.cluster = &world.cluster,
		.on_migration = on_migration,
		.on_migration_gone = on_migration_gone,
		.on_ordered = on_ordered,
	};

	(void)state;
	memset(&world, 0, sizeof(world));
	memset(&fake, 0, sizeof(fake));
	world.calls = BUFFER_MAX(1 << 14);
	assert_int_equal(uv_loop_init(&fake.loop), 0);
	world.interner = interner_new();
	cluster_init(&world.cluster, world.interner);
	world.kubevirt = kubevirt_new(NULL, &options);
	return 0;
}

static int teardown(void **state)
{
	assert_golden_told(GOLDEN_PROGRAM, *state);
	kubevirt_close(world.kubevirt);
	assert_int_equal(fake.count, 0);
	(void)uv_run(&fake.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&fake.loop), 0);
	cluster_fini(&world.cluster);
	interner_free(world.interner);
	buffer_fini(&world.calls);
	return 0;
}

/* Answers the list, and begins the watch. items: with single quotes. */
static void answer_list(const char *path, const char *items)
{
	scoped_free char *quoted = given_quotes(items);
	scoped_free char *page = xasprintf(
		"{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[%s]}",
		quoted);
	struct kube_request *request = fake_find("GET", path);

	assert_non_null(request);
	request->call.on_chunk(request->call.owner, page, strlen(page));
	fake_answer(request, 200, "", "");
	request = fake_find("GET", path);
	assert_non_null(request);
	request->call.on_chunk(request->call.owner, "", 0);
}

static void deliver(const char *path, const char *type, const char *object)
{
	struct kube_request *request = fake_find("GET", path);
	scoped_free char *quoted = given_quotes(object);
	scoped_free char *line =
		xasprintf("{\"type\":\"%s\",\"object\":%s}\n", type, quoted);

	assert_non_null(request);
	assert_non_null(strstr(request->path, "watch=1"));
	request->call.on_chunk(request->call.owner, line, strlen(line));
}

#define VMI(more)                                                              \
	"{'metadata':{'namespace':'vms','name':'a','uid':'ua',"                \
	"'resourceVersion':'2','labels':{'app':'db'}},"                        \
	"'status':{'phase':'Running','nodeName':'n1'" more "}}"
#define MIGRATION(phase)                                                       \
	"{'metadata':{'namespace':'vms','name':'plimsoll-id1','uid':'um',"     \
	"'resourceVersion':'3','labels':{'plimsoll.io/move-id':'id1'}},"       \
	"'spec':{'vmiName':'a','addedNodeSelector':{"                          \
	"'kubernetes.io/hostname':'n2'}},'status':{'phase':'" phase "'}}"
#define CR                                                                     \
	"{'metadata':{'namespace':'kubevirt','name':'kubevirt','uid':'uk',"    \
	"'resourceVersion':'4'},'spec':{'configuration':{"                     \
	"'developerConfiguration':{'cpuAllocationRatio':16},'migrations':{"    \
	"'parallelMigrationsPerCluster':3,'bandwidthPerMigration':'1Gi'}}},"   \
	"'status':{'phase':'Deployed','observedKubeVirtVersion':'v1.9.0',"     \
	"'targetKubeVirtVersion':'v1.9.0'}}"
#define POLICY                                                                 \
	"{'metadata':{'name':'p','uid':'up','resourceVersion':'5'},"           \
	"'spec':{'bandwidthPerMigration':'64Mi','selectors':{"                 \
	"'virtualMachineInstanceSelector':{'app':'db'},"                       \
	"'namespaceSelector':{'team':'x'}}}}"

/* The account may create and delete. */
static void answer_reviews(void)
{
	for (int i = 0; i < 2; i++) {
		kubevirt_poll(world.kubevirt);
		fake_answer(fake_find("POST", REVIEWS), 201, YES, "");
	}
}

static void sync_all(void)
{
	answer_list(VMIS, VMI(""));
	answer_list(MIGRATIONS, "");
	answer_list(KUBEVIRTS, CR);
	answer_list(POLICIES, POLICY);
	answer_reviews();
}

/* "" if it is ready and may order. */
static void expect_state(const char *ready, const char *order)
{
	scoped_buffer struct buffer why = BUFFER_MAX(1024);
	bool is_ready = kubevirt_is_ready(world.kubevirt, &why);

	assert_string_equal(why.data == NULL ? "" : why.data, ready);
	assert_int_equal(is_ready, *ready == '\0');
	buffer_clear(&why);
	is_ready = kubevirt_may_order(world.kubevirt, &why);
	assert_string_equal(why.data == NULL ? "" : why.data, order);
	assert_int_equal(is_ready, *order == '\0');
}

static void is_ready_once_all_is_known(void **state)
{
	(void)state;
	kubevirt_poll(world.kubevirt);
	expect_state("virtualmachineinstances are not watched yet",
		"kubevirts are not watched yet");
	/* A migration is read with its VMI. */
	assert_null(fake_find("GET", MIGRATIONS));
	sync_all();
	expect_state("", "");
	assert_string_equal(kubevirt_version(world.kubevirt), "v1.9.0");
}

static void without_kubevirt_it_says_so_and_sends_no_order(void **state)
{
	static const char *const paths[] = { VMIS, KUBEVIRTS, POLICIES };

	(void)state;
	for (size_t i = 0; i < count_of(paths); i++) {
		fake_answer(fake_find("GET", paths[i]), 404, "",
			"the server could not find the requested resource");
	}
	kubevirt_poll(world.kubevirt);
	expect_state(
		"virtualmachineinstances are not watched: cannot list "
		"/apis/kubevirt.io/v1/virtualmachineinstances: the server "
		"could not find the requested resource",
		"kubevirts are not watched: cannot list "
		"/apis/kubevirt.io/v1/kubevirts: the server could not find the "
		"requested resource");
	assert_string_equal(kubevirt_version(world.kubevirt), "");
}

static void goes_on_without_migration_policies(void **state)
{
	(void)state;
	fake_answer(fake_find("GET", POLICIES), 403, "", "forbidden");
	answer_list(VMIS, VMI(""));
	answer_list(MIGRATIONS, "");
	answer_list(KUBEVIRTS, CR);
	answer_reviews();
	expect_state("", "");
}

/* The namespace of the VMI has the label that the policy asks for. */
static void label_the_namespace(void)
{
	struct json_value *space =
		given_json("{'metadata':{'name':'vms','labels':{'team':'x'}}}");

	assert_int_equal(cluster_put_object(&world.cluster, CLUSTER_NAMESPACES,
				 space, NULL),
		0);
	json_value_free(space);
}

static double bandwidth(void)
{
	struct migration_limits limits;

	kubevirt_limits(world.kubevirt, kubevirt_vmi(world.kubevirt, "ua"),
		&limits);
	return limits.bytes_per_second;
}

#define MIB (1024.0 * 1024)

static void has_the_limits_of_the_cr_and_of_a_policy(void **state)
{
	struct migration_limits limits;

	(void)state;
	kubevirt_cluster_limits(world.kubevirt, &limits);
	assert_int_equal(limits.per_cluster, 5);
	sync_all();
	kubevirt_cluster_limits(world.kubevirt, &limits);
	assert_int_equal(limits.per_cluster, 3);
	assert_true(bandwidth() == 1024 * MIB);
	label_the_namespace();
	assert_true(bandwidth() == 64 * MIB);
	deliver(POLICIES, "DELETED", POLICY);
	assert_true(bandwidth() == 1024 * MIB);
	deliver(KUBEVIRTS, "DELETED", CR);
	kubevirt_cluster_limits(world.kubevirt, &limits);
	assert_int_equal(limits.per_cluster, 5);
	expect_state("", "KubeVirt is not known to be installed");
}

static unsigned cpu_allocation_ratio(void)
{
	struct launcher_settings settings;

	kubevirt_launcher_settings(world.kubevirt, &settings);
	return settings.cpu_allocation_ratio;
}

static void has_the_settings_of_launchers_of_the_cr(void **state)
{
	(void)state;
	assert_int_equal(cpu_allocation_ratio(), 10);
	sync_all();
	assert_int_equal(cpu_allocation_ratio(), 16);
	deliver(KUBEVIRTS, "DELETED", CR);
	assert_int_equal(cpu_allocation_ratio(), 10);
}

static const struct kubevirt_order order = { "id1", "vms", "a", "n2",
	KUBEVIRT_UNSCHEDULABLE_S, KUBEVIRT_PENDING_S };

static void orders_a_move_and_follows_it_to_its_end(void **state)
{
	struct kubevirt_node node;

	(void)state;
	sync_all();
	kubevirt_order(world.kubevirt, &order);
	fake_answer(fake_find("POST", ORDERS), 201, "{}", "");
	expect_calls("id1 is plimsoll-id1: ;");
	deliver(MIGRATIONS, "ADDED", MIGRATION("Pending"));
	assert_int_equal(kubevirt_unfinished(world.kubevirt), 1);
	kubevirt_node(world.kubevirt, "n1", &node);
	assert_int_equal(node.out, 1);
	assert_int_equal(node.foreign_out, 0);
	kubevirt_node(world.kubevirt, "n2", &node);
	assert_int_equal(node.in, 1);
	assert_string_equal(
		kubevirt_migration_of(world.kubevirt, "vms", "a")->move_id,
		"id1");
	deliver(VMIS, "MODIFIED",
		VMI(",'migrationState':{'migrationUid':'um',"
		    "'sourceNode':'n1','targetNode':'n2'}"));
	deliver(MIGRATIONS, "MODIFIED", MIGRATION("Failed"));
	deliver(VMIS, "MODIFIED",
		VMI(",'migrationState':{'migrationUid':'um','failed':true,"
		    "'completed':true,'failureReason':'stuck'}"));
	deliver(MIGRATIONS, "DELETED", MIGRATION("Failed"));
	expect_calls(
		"plimsoll-id1 0 ;plimsoll-id1 0 ;plimsoll-id1 4 ;"
		"plimsoll-id1 4 stuck;plimsoll-id1 gone;");
	assert_int_equal(kubevirt_unfinished(world.kubevirt), 0);
}

static void finds_an_order_by_the_watch_if_nobody_answers(void **state)
{
	(void)state;
	sync_all();
	kubevirt_order(world.kubevirt, &order);
	fake_answer(fake_find("POST", ORDERS), 0, "", "timeout");
	kubevirt_poll(world.kubevirt);
	expect_calls("");
	deliver(MIGRATIONS, "ADDED", MIGRATION("Pending"));
	expect_calls("id1 is plimsoll-id1: ;plimsoll-id1 0 ;");
}

static void cancels_by_the_id_of_the_move(void **state)
{
	struct kube_request *request;

	(void)state;
	sync_all();
	deliver(MIGRATIONS, "ADDED", MIGRATION("Scheduling"));
	kubevirt_cancel(world.kubevirt, "id1");
	request = fake_find("DELETE", ORDERS "/plimsoll-id1");
	assert_non_null(strstr(request->body, "\"uid\":\"um\""));
	fake_answer(request, 200, "{}", "");
	expect_calls("plimsoll-id1 1 ;id1 is plimsoll-id1: ;");
	deliver(MIGRATIONS, "DELETED", MIGRATION("Scheduling"));
	expect_calls("plimsoll-id1 gone;");
	kubevirt_cancel(world.kubevirt, "id1");
	kubevirt_poll(world.kubevirt);
	expect_calls("id1 is : no migration of this move is known;");
}

static void tells_that_a_vm_is_gone(void **state)
{
	(void)state;
	sync_all();
	deliver(MIGRATIONS, "ADDED", MIGRATION("Running"));
	deliver(VMIS, "DELETED", VMI(""));
	expect_calls("plimsoll-id1 2 ;plimsoll-id1 2 gone;");
	assert_null(kubevirt_vmi(world.kubevirt, "ua"));
}

static void ignores_an_invalid_object(void **state)
{
	(void)state;
	sync_all();
	deliver(MIGRATIONS, "ADDED",
		"{'metadata':{'name':'x','uid':'y','resourceVersion':'9'}}");
	deliver(VMIS, "ADDED",
		"{'metadata':{'name':'x','uid':'y','resourceVersion':'9',"
		"'labels':[]}}");
	deliver(POLICIES, "MODIFIED",
		"{'metadata':{'name':'p','uid':'up','resourceVersion':'9'},"
		"'spec':{'selectors':{'namespaceSelector':7}}}");
	assert_int_equal(kubevirt_unfinished(world.kubevirt), 0);
	assert_null(kubevirt_vmi(world.kubevirt, "y"));
	label_the_namespace();
	assert_true(bandwidth() == 1024 * MIB);
	expect_state("", "");
}

static void works_without_a_cluster_and_callbacks(void **state)
{
	(void)state;
	kubevirt_close(world.kubevirt);
	world.kubevirt = kubevirt_new(NULL, &(struct kubevirt_options){ 0 });
	sync_all();
	deliver(MIGRATIONS, "ADDED", MIGRATION("Running"));
	kubevirt_order(world.kubevirt, &order);
	fake_answer(fake_find("POST", ORDERS), 403, "{}", "forbidden");
	deliver(MIGRATIONS, "DELETED", MIGRATION("Running"));
	assert_int_equal(kubevirt_unfinished(world.kubevirt), 0);
}

#define CASE(name) golden_test(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(is_ready_once_all_is_known),
		CASE(without_kubevirt_it_says_so_and_sends_no_order),
		CASE(goes_on_without_migration_policies),
		CASE(has_the_limits_of_the_cr_and_of_a_policy),
		CASE(has_the_settings_of_launchers_of_the_cr),
		CASE(orders_a_move_and_follows_it_to_its_end),
		CASE(finds_an_order_by_the_watch_if_nobody_answers),
		CASE(cancels_by_the_id_of_the_move),
		CASE(tells_that_a_vm_is_gone),
		CASE(ignores_an_invalid_object),
		CASE(works_without_a_cluster_and_callbacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
