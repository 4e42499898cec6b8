/* The containers beside `compute` in a launcher pod. */
#include "scheduler/launcher/launcher_beside.h"

#include "tests/unit/scheduler/given.h"

#define MIB (INT64_C(1) << 20)
#define MB INT64_C(1000000)

static struct launcher_settings settings_of(const char *configuration)
{
	scoped_free char *text =
		xasprintf("{'spec':{'configuration':%s}}", configuration);
	struct json_value *object = given_json(text);
	struct launcher_settings settings;

	launcher_settings_read(&settings, object);
	json_value_free(object);
	return settings;
}

/* vmi: its members metadata and spec. */
static struct launcher_beside beside_of(const char *vmi,
	const struct launcher_settings *settings)
{
	struct json_value *object = given_json(vmi);
	struct launcher_beside beside;

	launcher_beside_read(&beside, json_value_get(object, "metadata"),
		json_value_get(object, "spec"), settings);
	json_value_free(object);
	return beside;
}

static void expect_counts(const struct launcher_beside *beside, unsigned disks,
	unsigned logs, unsigned hooks, unsigned shares)
{
	assert_int_equal(beside->counts[LAUNCHER_SUPPORT_DISK], disks);
	assert_int_equal(beside->counts[LAUNCHER_SUPPORT_LOG], logs);
	assert_int_equal(beside->counts[LAUNCHER_SUPPORT_HOOK], hooks);
	assert_int_equal(beside->counts[LAUNCHER_SUPPORT_VIRTIOFS], shares);
}

static const char disks[] =
	"{'spec':{'volumes':[{'name':'os','containerDisk':{}},"
	"{'name':'data','dataVolume':{}},{'name':'share','configMap':{}}],"
	"'domain':{'firmware':{'kernelBoot':{'container':{}}},"
	"'devices':{'filesystems':[{'name':'share','virtiofs':{}}]}}}}";

static void a_container_disk_has_a_container_unless_it_is_an_image(void **state)
{
	struct launcher_settings closed = settings_of(
		"{'developerConfiguration':{"
		"'disabledFeatureGates':['ImageVolume']}}");
	struct launcher_settings usual = settings_of("{}");
	struct launcher_beside beside = beside_of(disks, &closed);

	(void)state;
	expect_counts(&beside, 2, 1, 0, 1);
	beside = beside_of(disks, &usual);
	expect_counts(&beside, 0, 1, 0, 1);
}

static void the_console_is_logged_as_the_cr_and_the_vm_say(void **state)
{
	static const char wanted[] =
		"{'spec':{'domain':{'devices':{'logSerialConsole':true}}}}";
	static const char unwanted[] =
		"{'spec':{'domain':{'devices':{'logSerialConsole':false}}}}";
	static const char absent[] =
		"{'spec':{'domain':{'devices':{"
		"'autoattachSerialConsole':false,"
		"'logSerialConsole':true}}}}";
	struct launcher_settings quiet = settings_of(
		"{'virtualMachineOptions':{'disableSerialConsoleLog':{}}}");
	struct launcher_settings usual = settings_of("{}");
	struct launcher_beside beside = beside_of("{'spec':{}}", &quiet);

	(void)state;
	expect_counts(&beside, 0, 0, 0, 0);
	beside = beside_of(wanted, &quiet);
	expect_counts(&beside, 0, 1, 0, 0);
	beside = beside_of(unwanted, &usual);
	expect_counts(&beside, 0, 0, 0, 0);
	beside = beside_of(absent, &usual);
	expect_counts(&beside, 0, 0, 0, 0);
}

static void a_binding_counts_once(void **state)
{
	struct launcher_settings settings = settings_of(
		"{'network':{'binding':{'slow':{'sidecarImage':'image',"
		"'computeResourceOverhead':{'requests':{'memory':'250Mi'}}},"
		"'fast':{}}}}");
	struct launcher_beside beside = beside_of(
		"{'metadata':{'annotations':{'hooks.kubevirt.io/hookSidecars':"
		"'[{},{}]'}},'spec':{'domain':{'devices':{'interfaces':["
		"{'binding':{'name':'slow'}},{'binding':{'name':'fast'}},"
		"{'binding':{'name':'slow'}},{'binding':{'name':'none'}},"
		"{'masquerade':{}}]}}}}",
		&settings);

	(void)state;
	expect_counts(&beside, 0, 1, 3, 0);
	assert_int_equal(beside.binding_bytes, 250 * MIB);
}

static void bad_hooks_and_bindings_add_nothing(void **state)
{
	struct launcher_settings settings = settings_of(
		"{'network':{'binding':{'odd':{'computeResourceOverhead':{"
		"'requests':{'memory':'much'}}}}}}");
	struct launcher_beside beside = beside_of(
		"{'metadata':{'annotations':{'hooks.kubevirt.io/hookSidecars':"
		"'[{'}},'spec':{'domain':{'devices':{'interfaces':["
		"{'binding':{'name':'odd'}}]}}}}",
		&settings);

	(void)state;
	expect_counts(&beside, 0, 1, 0, 0);
	assert_int_equal(beside.binding_bytes, 0);
}

static void they_request_kubevirts_amounts_or_the_crs(void **state)
{
	struct launcher_settings usual = settings_of("{}");
	struct launcher_settings set = settings_of(
		"{'supportContainerResources':[{'type':'sidecar','resources':{"
		"'limits':{'cpu':'300m','memory':'90M'}}},"
		"{'type':'guest-console-log','resources':{'requests':{"
		"'cpu':'20m','memory':'50M'}}},{'type':'unknown'}]}");
	struct launcher_beside beside = { .counts = { 1, 1, 2, 1 } };
	struct launcher_support_amounts sum =
		launcher_beside_amounts(&beside, false, &usual);

	(void)state;
	assert_int_equal(sum.micro, 1000 + 5000 + 10000);
	assert_int_equal(sum.bytes, (1 + 35 + 1) * MB);
	sum = launcher_beside_amounts(&beside, true, &usual);
	assert_int_equal(sum.micro, 10000 + 15000 + 2 * 200000 + 100000);
	assert_int_equal(sum.bytes, (40 + 60 + 2 * 64 + 80) * MB);
	sum = launcher_beside_amounts(&beside, false, &set);
	assert_int_equal(sum.micro, 1000 + 20000 + 2 * 300000 + 10000);
	assert_int_equal(sum.bytes, (1 + 50 + 2 * 90 + 1) * MB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_container_disk_has_a_container_unless_it_is_an_image),
		cmocka_unit_test(
			the_console_is_logged_as_the_cr_and_the_vm_say),
		cmocka_unit_test(a_binding_counts_once),
		cmocka_unit_test(bad_hooks_and_bindings_add_nothing),
		cmocka_unit_test(they_request_kubevirts_amounts_or_the_crs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
