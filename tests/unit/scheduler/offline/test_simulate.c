#include "scheduler/offline/simulate.h"

#include <math.h>

#include "tests/unit/scheduler/given.h"

#define NODE(name, cores)                                                      \
	"{'name':'" name "','cpu_cores':" cores                                \
	",'memory_bytes':8000,'pods':"                                         \
	"9}"
#define VM(name, vcpus, memory, arrive, leave, percents)                       \
	"{'name':'" name "','namespace':'n','vcpus':" vcpus                    \
	",'memory_bytes':" memory                                              \
	",'cpu_request_millicores':100,"                                       \
	"'arrive_step':" arrive ",'leave_step':" leave                         \
	",'cpu_percent':[" percents "]}"

struct placement {
	size_t step, vm, node;
};

struct day {
	struct scenario scenario;
	struct simulation result;
	struct placement placements[32];
	size_t count;
};

static void note(void *owner, size_t step, size_t vm, size_t node)
{
	struct day *day = owner;

	assert_true(day->count < count_of(day->placements));
	day->placements[day->count++] = (struct placement){ step, vm, node };
}

static void play(struct day *day, const char *policy, const char *text)
{
	scoped_free char *json = given_quotes(text);
	struct policy found;
	struct error err;
	const struct simulation_options options = {
		.policy = &found,
		.on_placed = note,
		.owner = day,
	};

	*day = (struct day){ 0 };
	if (scenario_parse(&day->scenario, json, strlen(json), &err) < 0) {
		fail_msg("%s", err.text);
	}
	assert_int_equal(policy_find(&found, policy, NULL, NULL), 0);
	assert_int_equal(simulate(&day->result, &day->scenario, &options, &err),
		0);
}

static void day_fini(struct day *day)
{
	simulation_fini(&day->result);
	scenario_fini(&day->scenario);
}

static bool is_near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

/* One node of 4 cores with a demand of 4 and then 6: 2 of 10 are unserved, and
 * both steps are above 90 %. */
static void demand_above_the_cores_is_unserved(void **state)
{
	struct day day;

	(void)state;
	play(&day, "real-load",
		"{'step_s':300,'steps':2,'nodes':[" NODE("a",
			"4") "],'vms':[" VM("v", "8", "1", "0", "2",
			"50,75") "]}");
	assert_true(is_near(day.result.demand, 10));
	assert_true(is_near(day.result.unserved, 2));
	assert_true(is_near(day.result.unserved_pct, 20));
	assert_true(is_near(day.result.overload_pct, 100));
	assert_true(is_near(day.result.cv_mean, 0));
	assert_int_equal(day.result.placed, 1);
	assert_int_equal(day.result.unplaced, 0);
	assert_true(fabs((double)day.result.loads[1] - 1.5) < 1e-6);
	day_fini(&day);
}

/* Memory is a hard limit: the second VM waits until the first leaves, and its
 * demand until then is unserved. The memory of a VM that leaves is free at the
 * same step. */
static void a_vm_that_fits_no_node_waits_unserved(void **state)
{
	struct day day;

	(void)state;
	play(&day, "kube-scheduler",
		"{'step_s':300,'steps':3,'nodes':[" NODE("a",
			"4") "],'vms':[" VM("v", "1", "5000", "0", "2",
			"100,100,100") "," VM("w", "2", "5000", "1", "3",
			"100,50,100") "]}");
	assert_int_equal(day.result.placed, 2);
	assert_int_equal(day.result.unplaced, 1);
	assert_int_equal(day.placements[1].step, 2);
	assert_int_equal(day.placements[1].vm, 1);
	/* 1 + 1 + 1 (waiting) + 2. */
	assert_true(is_near(day.result.demand, 5));
	assert_true(is_near(day.result.unserved, 1));
	day_fini(&day);
}

/* The first two VMs look alike until they run; the third avoids the busy
 * one. */
static void decides_by_past_observations_only(void **state)
{
	struct day day;

	(void)state;
	play(&day, "real-load",
		"{'step_s':300,'steps':4,'nodes':[" NODE("a", "4") "," NODE("b",
			"4") "],'vms':[" VM("v", "4", "1", "0", "4",
			"90,90,90,90") "," VM("w", "4", "1", "0", "4",
			"5,5,5,5") "," VM("x", "4", "1", "2", "4",
			"0,0,0,90") "]}");
	assert_int_equal(day.count, 3);
	assert_int_not_equal(day.placements[0].node, day.placements[1].node);
	assert_int_equal(day.placements[2].node, day.placements[1].node);
	day_fini(&day);
}

/* The same VM returns: its usage is known to be large, so others avoid its node
 * before it is measured. */
static void remembers_a_vm_that_returns(void **state)
{
	struct day day;

	(void)state;
	play(&day, "real-load",
		"{'step_s':300,'steps':6,'nodes':[" NODE("a", "8") "," NODE("b",
			"8") "],'vms':[" VM("v", "8", "1", "0", "4",
			"95,95,95,95,0,0") "," VM("v", "8", "1", "5", "6",
			"0,0,0,0,0,95") "," VM("x", "8", "1", "5", "6",
			"0,0,0,0,0,5") "," VM("y", "8", "1", "5", "6",
			"0,0,0,0,0,5") "]}");
	assert_int_equal(day.count, 4);
	assert_int_not_equal(day.placements[2].node, day.placements[1].node);
	assert_int_not_equal(day.placements[3].node, day.placements[1].node);
	day_fini(&day);
}

static void no_data_gives_nan(void **state)
{
	struct day day;

	(void)state;
	play(&day, "real-load", "{'step_s':1,'steps':1,'nodes':[],'vms':[]}");
	assert_true(isnan(day.result.unserved_pct));
	assert_true(isnan(day.result.cv_mean));
	assert_true(isnan(day.result.decision_us_p50));
	day_fini(&day);
	play(&day, "real-load",
		"{'step_s':1,'steps':1,'nodes':[],'vms':[" VM("v", "1", "1",
			"0", "1", "100") "]}");
	assert_true(is_near(day.result.unserved_pct, 100));
	assert_int_equal(day.result.unplaced, 1);
	day_fini(&day);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(demand_above_the_cores_is_unserved),
		cmocka_unit_test(a_vm_that_fits_no_node_waits_unserved),
		cmocka_unit_test(decides_by_past_observations_only),
		cmocka_unit_test(remembers_a_vm_that_returns),
		cmocka_unit_test(no_data_gives_nan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
