#include "scheduler/cache/launcher_outcomes.h"

#include "kube/time.h"
#include "lib/clock.h"
#include "scheduler/objects/launcher.h"
#include "tests/unit/scheduler/given.h"
#include "tests/unit/scheduler/vm_waits.h"

#define SECOND INT64_C(1000000)
#define NOW (1000 * SECOND)
#define TARGET ",'kubevirt.io/migrationJobUID':'u'"

static struct cache cache;

static int setup(void **state)
{
	(void)state;
	cache_init(&cache);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	cache_fini(&cache);
	return 0;
}

/* A launcher pod of the VM d/v on the node n. */
static char *launcher(const char *uid, const char *label, const char *status)
{
	return xasprintf(
		"{'metadata':{'name':'%s','namespace':'d','uid':'%s','labels':"
		"{'kubevirt.io':'virt-launcher','kubevirt.io/created-by':"
		"'vmi'%s},'annotations':{'kubevirt.io/domain':'v'}},'spec':{"
		"'nodeName':'%s','containers':[{'name':'compute'}]},"
		"'status':{%s}}",
		uid, uid, label, strcmp(uid, "source") == 0 ? "m" : "n",
		status);
}

static void put(const char *uid, const char *label, const char *status)
{
	scoped_free char *json = launcher(uid, label, status);
	struct pod *pod = given_pod(cache.interner, json);

	launcher_outcomes_changed(&cache, pod);
	cache_put_pod(&cache, pod, NOW);
}

static void end_failed(const char *uid, const char *label, const char *status)
{
	scoped_free char *text = xasprintf("'phase':'Failed'%s", status);
	scoped_free char *json = launcher(uid, label, text);
	struct json_value *object = given_json(json);

	launcher_outcomes_failed(&cache, object, NOW);
	json_value_free(object);
}

static void leave(const char *uid)
{
	launcher_outcomes_left(&cache, uid, NOW);
	assert_true(cache_remove_pod(&cache, uid));
}

static bool waits(void)
{
	return vm_wait_until(&cache.cluster.failures, "d", "v", "n") > NOW;
}

#define RAN(from, to)                                                          \
	",'containerStatuses':[{'name':'other'},{'name':'compute','state':{"   \
	"'terminated':{'startedAt':'2026-11-23T10:" from                       \
	"Z','finishedAt':"                                                     \
	"'2026-11-23T10:" to "Z'}}}]"
#define RUNS                                                                   \
	"'phase':'Running','containerStatuses':[{'name':'compute','state':{"   \
	"'running':{'startedAt':'2026-11-23T00:00:00Z'}}}]"

static void a_start_that_failed_counts_against_the_node(void **state)
{
	static const struct {
		const char *status;
		bool is_failure;
	} cases[] = {
		{ ",'reason':'OutOfmemory'", true },
		{ "", true },
		{ ",'containerStatuses':[{'name':'compute','state':{'waiting':"
		  "{}}}]",
			true },
		{ RAN("00:00", "00:59"), true },
		{ RAN("00:00", "01:00"), false },
		{ ",'containerStatuses':[{'name':'compute','state':{'running':"
		  "{}}}]",
			false },
		{ ",'containerStatuses':[{'name':'compute','state':{"
		  "'terminated':{'startedAt':'1970-01-01T00:00:00Z',"
		  "'finishedAt':'2026-11-23T10:00:00Z'}}}]",
			true },
	};
	(void)state;

	for (size_t i = 0; i < count_of(cases); i++) {
		end_failed("p", "", cases[i].status);
		given_check(waits() == cases[i].is_failure, cases[i].status);
		vm_failures_succeeded(&cache.cluster.failures, "d", "v", "n");
	}
}

static void a_long_run_ends_the_row(void **state)
{
	(void)state;
	end_failed("p", "", "");
	end_failed("p", "", RAN("00:00", "09:00"));
	assert_false(waits());
	/* The same for a VM that stops without a failure. */
	end_failed("p", "", "");
	put("p", "", RUNS);
	leave("p");
	assert_false(waits());
	/* But not for a pod that never ran. */
	end_failed("p", "", "");
	put("p", "", "'phase':'Pending'");
	leave("p");
	assert_true(waits());
}

static void a_vm_that_is_stopped_while_it_boots_has_not_failed(void **state)
{
	struct json_value *object = given_json(
		"{'metadata':{'name':'p','namespace':'d','uid':'p',"
		"'deletionTimestamp':'2026-11-23T10:00:00Z','annotations':{"
		"'kubevirt.io/domain':'v'}},'spec':{'nodeName':'n'},'status':{"
		"'phase':'Failed'}}");
	(void)state;

	launcher_outcomes_failed(&cache, object, NOW);
	assert_false(waits());
	json_value_free(object);
}

static void a_migration_that_ended_before_the_vm_arrived_counts(void **state)
{
	(void)state;
	put("source", "", RUNS);
	put("target", TARGET, RUNS);
	leave("target");
	assert_true(waits());
	/* The watch of failed pods comes later, and ends no row. */
	end_failed("target", TARGET, RAN("00:00", "09:00"));
	assert_true(waits());
}

static void a_failed_target_counts_before_it_leaves(void **state)
{
	(void)state;
	put("source", "", RUNS);
	put("target", TARGET, RUNS);
	end_failed("target", TARGET, RAN("00:00", "09:00"));
	assert_true(waits());
}

static void a_vm_that_stops_during_its_migration_has_not_failed(void **state)
{
	(void)state;
	put("source", "", RUNS);
	put("target", TARGET, RUNS);
	leave("source");
	leave("target");
	assert_false(waits());
}

static void an_arrived_vm_ends_the_row(void **state)
{
	(void)state;
	put("source", "", RUNS);
	put("target", TARGET, RUNS);
	end_failed("target", TARGET, "");
	assert_true(waits());
	put("target", TARGET ",'kubevirt.io/nodeName':'n'", RUNS);
	assert_false(waits());
	/* It is the VM's pod from now on. */
	leave("source");
	leave("target");
	assert_false(waits());
}

static void a_pod_is_a_target_until_the_vm_arrived(void **state)
{
	static const struct {
		const char *labels, *annotations, *node;
		bool is_target;
	} cases[] = {
		{ "", "", "n", false },
		{ "'kubevirt.io/migrationJobUID':'u'", "", "", true },
		{ "'kubevirt.io/migrationJobUID':'u','kubevirt.io/nodeName':"
		  "'m'",
			"", "n", true },
		{ "'kubevirt.io/migrationJobUID':'u','kubevirt.io/nodeName':"
		  "'n'",
			"", "n", false },
		{ "'kubevirt.io/migrationJobUID':'u'",
			"'kubevirt.io/migration-target-ready-timestamp':'t'",
			"n", false },
	};
	(void)state;

	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *json = xasprintf(
			"{'metadata':{'labels':{%s},'annotations':{%s}},"
			"'spec':{'nodeName':'%s'}}",
			cases[i].labels, cases[i].annotations, cases[i].node);
		struct json_value *object = given_json(json);

		given_check(launcher_is_target(object) == cases[i].is_target,
			json);
		assert_true(launcher_started_us(object) == TIME_LONG_AGO);
		json_value_free(object);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_start_that_failed_counts_against_the_node),
		TEST(a_long_run_ends_the_row),
		TEST(a_vm_that_is_stopped_while_it_boots_has_not_failed),
		TEST(a_migration_that_ended_before_the_vm_arrived_counts),
		TEST(a_failed_target_counts_before_it_leaves),
		TEST(a_vm_that_stops_during_its_migration_has_not_failed),
		TEST(an_arrived_vm_ends_the_row),
		TEST(a_pod_is_a_target_until_the_vm_arrived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
