#include "scheduler/kubevirt/kubevirt_version.h"

#include "lib/memory.h"
#include "tests/unit/scheduler/given.h"

static struct kubevirt_version version_of(const char *text)
{
	struct json_value *object = given_json(text);
	struct kubevirt_version version;

	kubevirt_version_read(&version, object);
	json_value_free(object);
	return version;
}

static void expect_refusal(const char *text, const char *expected)
{
	struct kubevirt_version version = version_of(text);
	scoped_buffer struct buffer why = BUFFER_MAX(400);

	assert_false(kubevirt_version_may_order(&version, &why));
	assert_string_equal(why.data, expected);
}

static void reads_a_recorded_cr(void **state)
{
	struct json_value *file = given_file(GIVEN_DIR "kubevirt-cr.json");
	struct kubevirt_version version;
	scoped_buffer struct buffer why = BUFFER_MAX(400);

	(void)state;
	kubevirt_version_read(&version, file);
	assert_string_equal(version.text, "v1.9.0-d923fdb8");
	assert_true(kubevirt_version_may_order(&version, &why));
	assert_int_equal(why.len, 0);
	assert_int_equal(version.limits.per_cluster, 5);
	json_value_free(file);
}

#define CR(version, more)                                                      \
	"{'metadata':{'name':'k'},'status':{'phase':'Deployed',"               \
	"'observedKubeVirtVersion':'" version "'" more "}}"

static void knows_which_versions_can_choose_a_node(void **state)
{
	static const char *const fine[] = { "v1.6.0", "1.6.0-rc.1", "v1.10.2",
		"v2.0.0" };
	static const char *const old[] = { "v1.5.9", "v0.59.0", "1.0" };

	(void)state;
	for (size_t i = 0; i < count_of(fine); i++) {
		scoped_free char *text = xasprintf(CR("%s", ""), fine[i]);
		struct kubevirt_version version = version_of(text);

		assert_true(kubevirt_version_may_order(&version, NULL));
	}
	for (size_t i = 0; i < count_of(old); i++) {
		scoped_free char *text = xasprintf(CR("%s", ""), old[i]);
		scoped_free char *why = xasprintf(
			"KubeVirt %s is older than 1.6, which introduced "
			"migrations to a chosen node",
			old[i]);

		expect_refusal(text, why);
	}
	expect_refusal(CR("devel", ""),
		"KubeVirt's version 'devel' cannot be read, 1.6 is needed");
	expect_refusal(CR("v1.99999999999", ""),
		"KubeVirt's version 'v1.99999999999' cannot be read, 1.6 is "
		"needed");
}

static void orders_nothing_during_an_upgrade(void **state)
{
	(void)state;
	expect_refusal(CR("v1.9.0", ",'targetKubeVirtVersion':'v1.9.1'"),
		"KubeVirt is being upgraded");
	expect_refusal(CR("v1.9.0",
			       ",'conditions':[{'type':'Progressing',"
			       "'status':'True'}]"),
		"KubeVirt is being upgraded");
	expect_refusal(
		"{'status':{'phase':'Deploying',"
		"'observedKubeVirtVersion':'v1.9.0'}}",
		"KubeVirt is not in phase Deployed");
	expect_refusal(
		"{'metadata':{'deletionTimestamp':'x'},'status':{"
		"'phase':'Deployed','observedKubeVirtVersion':'v1.9.0'}"
		"}",
		"KubeVirt is being removed");
	expect_refusal("{}", "KubeVirt is not known to be installed");
}

#define OUTDATED(method)                                                       \
	"{'spec':{'workloadUpdateStrategy':{'workloadUpdateMethods':["         \
	"'Evict'" method                                                       \
	"]}},'status':{'phase':'Deployed',"                                    \
	"'observedKubeVirtVersion':'v1.9.0',"                                  \
	"'outdatedVirtualMachineInstanceWorkloads':7}}"

/* They follow in batches, long after the operator is done. */
static void orders_nothing_while_workloads_are_updated(void **state)
{
	struct kubevirt_version version = version_of(OUTDATED(""));

	(void)state;
	assert_true(kubevirt_version_may_order(&version, NULL));
	expect_refusal(OUTDATED(",'LiveMigrate'"),
		"KubeVirt migrates VMs to launchers of its new version (7 are "
		"outdated)");
}

static void reads_the_limits_of_migrations(void **state)
{
	struct kubevirt_version version = version_of(
		"{'spec':{'configuration':{'migrations':{"
		"'parallelOutboundMigrationsPerNode':1}}}}");

	(void)state;
	assert_int_equal(version.limits.out_of_node, 1);
	assert_int_equal(version.limits.per_cluster, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_recorded_cr),
		cmocka_unit_test(knows_which_versions_can_choose_a_node),
		cmocka_unit_test(orders_nothing_during_an_upgrade),
		cmocka_unit_test(orders_nothing_while_workloads_are_updated),
		cmocka_unit_test(reads_the_limits_of_migrations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
