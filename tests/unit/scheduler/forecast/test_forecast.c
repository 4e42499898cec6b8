#include "scheduler/forecast/forecast.h"

#include <math.h>

#include "tests/unit/scheduler/given.h"

static const int64_t second = 1000000;

static bool is_near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

#define COMPUTE(what)                                                          \
	"{'containers':[{'name':'compute','resources':{" what "}}]}"
static const struct {
	const char *spec;
	double vcpus;
} launchers[] = {
	{ "{}", 1 },
	{ COMPUTE("'requests':{'cpu':'200m'}"), 2 },
	{ COMPUTE("'requests':{'cpu':'100m'}"), 1 },
	{ COMPUTE("'requests':{'cpu':'10m'}"), 1 },
	{ COMPUTE("'requests':{'cpu':'800m'}"), 8 },
	{ COMPUTE("'requests':{'cpu':'4'},'limits':{'cpu':'4'}"), 4 },
	{ COMPUTE("'requests':{'cpu':'200m'},'limits':{'cpu':'2'}"), 2 },
	{ COMPUTE("'requests':{'cpu':'900'}"), 4096 },
	{ "{'containers':[{'name':'sidecar','resources':{'requests':"
	  "{'cpu':'1'}}},{'name':'compute','resources':{'requests':"
	  "{'cpu':'300m'}}}]}",
		3 },
};

static void estimates_vcpus_from_the_launcher_pod(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(launchers); i++) {
		struct json_value *spec = given_json(launchers[i].spec);

		given_check(is_near(forecast_vcpus(spec), launchers[i].vcpus),
			launchers[i].spec);
		json_value_free(spec);
	}
}

static void detects_dedicated_cpus(void **state)
{
	static const struct {
		const char *spec;
		bool is_dedicated;
	} cases[] = {
		{ "{}", false },
		{ "{'nodeSelector':{'kubevirt.io/cpumanager':'true'}}", true },
		{ "{'nodeSelector':{'cpumanager':'true'}}", true },
		{ "{'nodeSelector':{'cpumanager':'false'}}", false },
		{ "{'nodeSelector':{'cpumanager':7}}", false },
	};
	struct json_value *recorded =
		given_file(GIVEN_DIR "pod-dedicated.json");

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct json_value *spec = given_json(cases[i].spec);

		given_check(
			forecast_is_dedicated(spec) == cases[i].is_dedicated,
			cases[i].spec);
		json_value_free(spec);
	}
	assert_true(forecast_is_dedicated(json_value_get(recorded, "spec")));
	json_value_free(recorded);
}

static void fades_the_charge_of_an_unseen_vm(void **state)
{
	struct forecast_charge p = {
		.memory_bytes = 100,
		.bound_us = 50 * second,
	};

	(void)state;
	assert_true(is_near(forecast_unseen(&p, 50 * second), 1));
	assert_true(is_near(forecast_unseen(&p, 200 * second), 0.5));
	assert_true(is_near(forecast_memory(&p, 200 * second), 50));
	assert_true(is_near(forecast_unseen(&p, 350 * second), 0));
	assert_true(is_near(forecast_unseen(&p, 9999 * second), 0));
	/* A watch event may be newer than the clock reading. */
	assert_true(is_near(forecast_unseen(&p, 0), 1));
}

static void charges_a_seen_vm_the_memory_it_has_not_touched(void **state)
{
	struct forecast_charge p = {
		.memory_bytes = 100,
		.is_seen = true,
		.seen_memory_bytes = 25,
	};

	(void)state;
	assert_true(is_near(forecast_memory(&p, 10 * second), 75));
	assert_true(is_near(forecast_memory(&p, 60 * second), 75));
	assert_true(is_near(forecast_memory(&p, 90 * second), 37.5));
	assert_true(is_near(forecast_memory(&p, 120 * second), 0));
	p.seen_memory_bytes = 120;
	assert_true(is_near(forecast_memory(&p, 10 * second), 0));
	p.seen_memory_bytes = NAN;
	assert_true(is_near(forecast_memory(&p, 10 * second), 100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(estimates_vcpus_from_the_launcher_pod),
		cmocka_unit_test(detects_dedicated_cpus),
		cmocka_unit_test(fades_the_charge_of_an_unseen_vm),
		cmocka_unit_test(
			charges_a_seen_vm_the_memory_it_has_not_touched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
