#include "simulate/simulate.h"

#include <math.h>

#include "tests/support/golden.h"
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
	struct placement moves[32];
	size_t move_count;
};

static void note(void *owner, size_t step, size_t vm, size_t node)
{
	struct day *day = owner;

	assert_true(day->count < count_of(day->placements));
	day->placements[day->count++] = (struct placement){ step, vm, node };
}

static void note_move(void *owner, size_t step, size_t vm, size_t node,
	enum move_reason reason)
{
	struct day *day = owner;

	assert_int_equal(reason, MOVE_FOR_CPU);
	assert_true(day->move_count < count_of(day->moves));
	day->moves[day->move_count++] = (struct placement){ step, vm, node };
}

static void tell_day(const struct day *day)
{
	const struct simulation *r = &day->result;
	size_t loads = day->scenario.node_count * day->scenario.steps;

	golden_tell(
		"demand %.6g %.6g %.6g, overload %.6g, cv %.6g, stalled "
		"%.6g, placed %zu %zu, steps %zu, moves %.6g\n",
		r->demand, r->unserved, r->unserved_pct, r->overload_pct,
		r->cv_mean, r->memory_stalled_pct, r->placed, r->unplaced,
		r->vm_steps, r->moves_per_vm_day);
	for (size_t i = 0; i < day->count; i++) {
		golden_tell(" %zu:%zu>%zu", day->placements[i].step,
			day->placements[i].vm, day->placements[i].node);
	}
	for (size_t i = 0; i < day->move_count; i++) {
		golden_tell(" move %zu:%zu>%zu", day->moves[i].step,
			day->moves[i].vm, day->moves[i].node);
	}
	for (size_t i = 0; i < loads; i++) {
		golden_tell(" %.4g", (double)r->loads[i]);
	}
	golden_tell("\n");
}

static void play_with(struct day *day, const char *policy,
	const struct move_policy *moves, const char *text)
{
	scoped_free char *json = given_quotes(text);
	struct policy found;
	struct error err;
	const struct simulation_options options = {
		.policy = &found,
		.moves = moves,
		.price = RULE_PRICE,
		.on_placed = note,
		.on_moved = note_move,
		.owner = day,
	};

	*day = (struct day){ 0 };
	if (scenario_parse(&day->scenario, json, strlen(json), &err) < 0) {
		fail_msg("%s", err.text);
	}
	assert_int_equal(policy_find(&found, policy, NULL, NULL), 0);
	assert_int_equal(simulate(&day->result, &day->scenario, &options, &err),
		0);
	tell_day(day);
}

static void play(struct day *day, const char *policy, const char *text)
{
	play_with(day, policy, NULL, text);
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

/* ---- moves ---- */

/* Orders the first VM that may move to the other of two nodes, at each step. */
static bool back_and_forth(void *state, const struct fleet *fleet,
	const struct rule_options *options, struct fleet_move *out)
{
	(void)state;
	for (size_t i = 0; i < fleet->vm_count; i++) {
		const struct fleet_vm *vm = &fleet->vms[i];
		size_t target = 1 - vm->node;

		if (vm->may_move && fleet->nodes[vm->node].may_give &&
			fleet->nodes[target].may_take &&
			options->may_run(options->owner, vm,
				&fleet->nodes[target])) {
			*out = (struct fleet_move){ .vm = i, .target = target };
			return true;
		}
	}
	return false;
}

static const struct move_policy restless = { .next = back_and_forth };
static const struct move_policy resting = { .next = back_and_forth,
	.has_cooldown = true };

/* The first node that may take the VM. */
static bool find_taker(const struct fleet *fleet, size_t vm,
	struct fleet_move *out)
{
	for (size_t target = 0; target < fleet->node_count; target++) {
		if (target != fleet->vms[vm].node &&
			fleet->nodes[target].may_take) {
			*out = (struct fleet_move){ .vm = vm,
				.target = target };
			return true;
		}
	}
	return false;
}

/* Orders the first VM to the first node that may take it. */
static bool eager(void *state, const struct fleet *fleet,
	const struct rule_options *options, struct fleet_move *out)
{
	(void)state;
	(void)options;
	for (size_t i = 0; i < fleet->vm_count; i++) {
		const struct fleet_vm *vm = &fleet->vms[i];

		if (vm->may_move && fleet->nodes[vm->node].may_give &&
			find_taker(fleet, i, out)) {
			return true;
		}
	}
	return false;
}

static const struct move_policy eager_policy = { .next = eager };

/* Six nodes with four VMs each, and one step in which they may move. */
static void a_step_has_five_moves_two_out_of_a_node_one_into_a_node(
	void **state)
{
	enum { VMS = 24 };
	scoped_buffer struct buffer text = BUFFER_MAX(100000);
	static const size_t targets[] = { 1, 2, 0, 3, 4 };
	struct day day;

	(void)state;
	buffer_text(&text,
		"{'step_s':300,'steps':3,'nodes':[" NODE("a", "4") "," NODE("b",
			"4") "," NODE("c", "4") "," NODE("d", "4") "," NODE("e",
			"4") "," NODE("f", "4") "],'vms':[");
	for (int i = 0; i < VMS; i++) {
		buffer_printf(&text,
			"%s{'name':'v%d','namespace':'n','vcpus':1,"
			"'memory_bytes':1,'cpu_request_millicores':100,"
			"'arrive_step':0,'leave_step':3,"
			"'cpu_percent':[5,5,5]}",
			i > 0 ? "," : "", i);
	}
	buffer_text(&text, "]}");
	play_with(&day, "kube-scheduler", &eager_policy, text.data);
	assert_int_equal(day.move_count, 5);
	for (size_t i = 0; i < count_of(targets); i++) {
		assert_int_equal(day.moves[i].step, 2);
		assert_int_equal(day.moves[i].node, targets[i]);
	}
	day_fini(&day);
}

/* The last of three steps has the first move. The copy takes 240 of 300 s: the
 * VM wants 4 cores, of which the source has 3 free, and both pay one core. */
static void a_copy_takes_a_core_of_both_nodes(void **state)
{
	struct day day;

	(void)state;
	play_with(&day, "kube-scheduler", &restless,
		"{'step_s':300,'steps':3,'nodes':[{'name':'a','cpu_cores':4,"
		"'memory_bytes':300000000000,'pods':9},{'name':'b',"
		"'cpu_cores':4,'memory_bytes':300000000000,'pods':9}],"
		"'vms':[" VM("v", "4", "240000000000", "0", "3",
			"0,0,100") "]}");
	assert_int_equal(day.result.moves.moves, 1);
	assert_int_equal(day.moves[0].step, 2);
	assert_int_equal(day.moves[0].node, 1 - day.placements[0].node);
	assert_true(is_near(day.result.demand, 4));
	/* 0.8 x (4 + 1) on the source; 0.2 x 4 + 0.8 on the target. */
	assert_true(is_near(day.result.unserved, 0));
	assert_true(
		fabs((double)day.result.loads[day.placements[0].node * 3 + 2] -
			1) < 1e-6);
	assert_true(fabs((double)day.result.loads[day.moves[0].node * 3 + 2] -
			    0.4) < 1e-6);
	assert_true(is_near(day.result.moves_per_vm_day, 96));
	day_fini(&day);
}

static void a_moved_vm_goes_back_only_if_a_policy_does_not_rest(void **state)
{
	static const char text[] = "{'step_s':300,'steps':20,'nodes':[" NODE(
		"a", "4") "," NODE("b", "4") "],'vms':[" VM("v", "1", "1", "0",
		"20", "5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5") "]}";
	struct day day;

	(void)state;
	play_with(&day, "kube-scheduler", &restless, text);
	assert_int_equal(day.result.moves.moves, 18);
	assert_int_equal(day.result.moves.most_of_one_vm, 18);
	assert_int_equal(day.result.moves.back, 17);
	day_fini(&day);
	play_with(&day, "kube-scheduler", &resting, text);
	assert_int_equal(day.result.moves.moves, 2);
	assert_int_equal(day.moves[1].step - day.moves[0].step, 12);
	assert_int_equal(day.result.moves.back, 1);
	day_fini(&day);
}

/* Memory for one VM on each node: it is on both nodes until the step ends. */
static void memory_counts_on_both_nodes_during_a_move(void **state)
{
	struct day day;

	(void)state;
	play_with(&day, "kube-scheduler", &restless,
		"{'step_s':300,'steps':5,'nodes':[" NODE("a", "4") "," NODE("b",
			"4") "],'vms':[" VM("v", "1", "5000", "0", "5",
			"5,5,5,5,5") "," VM("w", "1", "5000", "0", "5",
			"5,5,5,5,5") "]}");
	assert_int_equal(day.result.placed, 2);
	assert_int_equal(day.result.moves.moves, 0);
	day_fini(&day);
}

/* The VM on the other node wants all of it in that very step. */
static void a_move_that_did_harm_is_worse_in_hindsight(void **state)
{
	struct day day;

	(void)state;
	play_with(&day, "kube-scheduler", &resting,
		"{'step_s':300,'steps':3,'nodes':[" NODE("a", "4") "," NODE("b",
			"4") "],'vms':[" VM("v", "4", "1", "0", "3",
			"0,0,100") "," VM("w", "4", "1", "1", "3",
			"0,0,100") "]}");
	assert_int_not_equal(day.placements[0].node, day.placements[1].node);
	assert_true(day.result.moves.moves >= 1);
	assert_int_equal(day.moves[0].vm, 0);
	assert_true(day.result.moves.worse_in_hindsight >= 1);
	assert_true(day.result.unserved > 3);
	day_fini(&day);
}

/* Two VMs of one node turn busy; the rule has separated them. */
static void the_rule_moves_a_vm_off_a_hot_node(void **state)
{
	struct day day;
	struct day still;
	static const char text[] = "{'step_s':300,'steps':8,'nodes':[" NODE("a",
		"8") "," NODE("b", "8") "],'vms':[" VM("u", "8", "1", "0", "3",
		"90,90,90,90,90,90,90,90") "," VM("v", "8", "1", "0", "8",
		"5,5,5,70,70,70,70,70") "," VM("w", "8", "1", "1", "8",
		"5,5,5,70,70,70,70,70") "]}";

	(void)state;
	play_with(&still, "real-load", NULL, text);
	play_with(&day, "real-load", &move_policy_rule, text);
	assert_int_equal(day.result.moves.moves, 1);
	assert_true(day.moves[0].vm > 0); /* not u, which leaves */
	assert_true(day.result.unserved < still.result.unserved / 2);
	day_fini(&day);
	day_fini(&still);
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
		golden_test(demand_above_the_cores_is_unserved, NULL,
			golden_end),
		golden_test(a_vm_that_fits_no_node_waits_unserved, NULL,
			golden_end),
		golden_test(decides_by_past_observations_only, NULL,
			golden_end),
		golden_test(remembers_a_vm_that_returns, NULL, golden_end),
		golden_test(
			a_step_has_five_moves_two_out_of_a_node_one_into_a_node,
			NULL, golden_end),
		golden_test(a_copy_takes_a_core_of_both_nodes, NULL,
			golden_end),
		golden_test(a_moved_vm_goes_back_only_if_a_policy_does_not_rest,
			NULL, golden_end),
		golden_test(memory_counts_on_both_nodes_during_a_move, NULL,
			golden_end),
		golden_test(a_move_that_did_harm_is_worse_in_hindsight, NULL,
			golden_end),
		golden_test(the_rule_moves_a_vm_off_a_hot_node, NULL,
			golden_end),
		golden_test(no_data_gives_nan, NULL, golden_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
