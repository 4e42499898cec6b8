#include "scheduler/launcher/launcher_settings.h"

#include "tests/unit/scheduler/given.h"

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

static void expect_defaults(const struct launcher_settings *settings)
{
	assert_int_equal(settings->cpu_allocation_ratio, 10);
	assert_int_equal(settings->memory_overcommit, 100);
	assert_true(settings->overhead_ratio == 1);
}

static void a_recorded_cr_has_the_defaults(void **state)
{
	struct json_value *file = given_file(GIVEN_DIR "kubevirt-cr.json");
	struct launcher_settings settings;

	(void)state;
	launcher_settings_read(&settings, file);
	expect_defaults(&settings);
	json_value_free(file);
	launcher_settings_read(&settings, NULL);
	expect_defaults(&settings);
}

static void reads_what_the_cr_sets(void **state)
{
	struct launcher_settings settings = settings_of(
		"{'developerConfiguration':{'cpuAllocationRatio':16,"
		"'memoryOvercommit':150},"
		"'additionalGuestMemoryOverheadRatio':'1.25'}");

	(void)state;
	assert_int_equal(settings.cpu_allocation_ratio, 16);
	assert_int_equal(settings.memory_overcommit, 150);
	assert_true(settings.overhead_ratio == 1.25);
}

static void values_that_kubevirt_refuses_leave_the_defaults(void **state)
{
	static const char *const texts[] = {
		"{'developerConfiguration':{'cpuAllocationRatio':0,"
		"'memoryOvercommit':-5},"
		"'additionalGuestMemoryOverheadRatio':''}",
		"{'developerConfiguration':{'cpuAllocationRatio':'16',"
		"'memoryOvercommit':1e300},"
		"'additionalGuestMemoryOverheadRatio':'much'}",
		"{'developerConfiguration':[],"
		"'additionalGuestMemoryOverheadRatio':1.5}",
		"{'additionalGuestMemoryOverheadRatio':'1e18'}",
		"{'additionalGuestMemoryOverheadRatio':'0.5'}",
		"'text'",
	};

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		struct launcher_settings settings = settings_of(texts[i]);

		expect_defaults(&settings);
	}
}

/* A byte less than there is room for, and one too many. */
static void node_selectors_have_room_for_a_kilobyte(void **state)
{
	enum { FRAME = sizeof("{\"a\":\"\"}") - 1 };

	(void)state;
	for (int more = 0; more < 2; more++) {
		int len = LAUNCHER_SELECTOR_MAX - 1 - FRAME + more;
		scoped_free char *text = xasprintf(
			"{'developerConfiguration':{'nodeSelectors':{'a':"
			"'%0*d'}}}",
			len, 0);
		struct launcher_settings settings = settings_of(text);

		assert_int_equal(settings.is_selector_too_long, more);
		assert_int_equal(strlen(settings.node_selector),
			more ? 0 : LAUNCHER_SELECTOR_MAX - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recorded_cr_has_the_defaults),
		cmocka_unit_test(reads_what_the_cr_sets),
		cmocka_unit_test(
			values_that_kubevirt_refuses_leave_the_defaults),
		cmocka_unit_test(node_selectors_have_room_for_a_kilobyte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
