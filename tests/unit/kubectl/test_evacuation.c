#include "kubectl/evacuation.h"

#include "kube/json_value.h"
#include "kubectl/migrations.h"
#include "tests/support/fake_kubectl.h"

#include <errno.h>
#include <string.h>

/* The migrations of a wave end as the test says. */
static struct {
	unsigned runs;
	const char *failing; /* the VM that fails, or NULL */
	int error;	     /* that migrations_run() returns */
} outcome;

int __wrap_migrations_run(struct migrations *migrations, struct error *err);
int __wrap_migrations_run(struct migrations *migrations, struct error *err)
{
	assert_ptr_equal(migrations->client, &plugin.client);
	assert_int_equal(migrations->parallel, 3);
	outcome.runs++;
	buffer_text(&plugin.said, "moves:");
	for (size_t i = 0; i < migrations->count; i++) {
		struct vm_migration *move = &migrations->list[i];
		bool fails = outcome.failing != NULL &&
			strcmp(move->vm, outcome.failing) == 0;

		assert_null(move->migration);
		buffer_printf(&plugin.said, " %s/%s %s", move->namespace,
			move->vm, move->selector);
		move->state = fails ? MIGRATION_FAILED : MIGRATION_ARRIVED;
	}
	buffer_text(&plugin.said, "\n");
	return outcome.error == 0 ? 0
				  : error_set(err, outcome.error, "it ended");
}

static int setup(void **state)
{
	(void)plugin_setup(state);
	memset(&outcome, 0, sizeof(outcome));
	plugin.flags.namespace = "mine";
	return 0;
}

#define waves_test(test)                                                       \
	cmocka_unit_test_setup_teardown(test, setup, plugin_teardown)

/* ---- what the API server is asked ---- */

#define STEP_AS(action, wave, namespace, vm, to)                               \
	"{\"action\":\"" action                                                \
	"\",\"namespace\":\"" namespace "\",\"vmName\":\"" vm                  \
					"\",\"sourceNode\":\"n1\","            \
					"\"targetNode\":\"" to "\"" wave "}"
#define STEP(number, vm) STEP_AS("Migrate", ",\"wave\":" number, "a", vm, "n2")
#define PLAN(steps) "{\"status\":{\"steps\":[" steps "]}}"

/* The plugin asks for a new plan. */
#define ASK                                                                    \
	"create --raw " LOAD_API                                               \
	"/namespaces/mine/plans -f - < "                                       \
	"{\"apiVersion\":\"load.plimsoll.io/v1alpha1\",\"kind\":\"Plan\","     \
	"\"metadata\":{\"namespace\":\"mine\"},\"spec\":{"                     \
	"\"goal\":\"Evacuate\",\"nodeNames\":[\"n1\"]}}"
#define PLANS(steps)                                                           \
	{                                                                      \
		.call = ASK, .out = PLAN(steps)                                \
	}

#define LOOK_AT(namespace, vm)                                                 \
	"get --raw " KUBEVIRT_API                                              \
	"/namespaces/" namespace "/virtualmachineinstances/" vm
#define VM_ON(node, is_migratable)                                             \
	"{\"status\":{\"phase\":\"Running\",\"nodeName\":\"" node              \
	"\","                                                                  \
	"\"conditions\":[{\"type\":\"LiveMigratable\",\"status\":"             \
	"\"" is_migratable "\",\"message\":\"a disk\"}]}}"

/* The VM is on n1 and can move; n2 is its target. */
#define READY(vm)                                                              \
	{ .call = LOOK_AT("a", vm), .out = VM_ON("n1", "True") },              \
	{                                                                      \
		.call = "get --raw /api/v1/nodes/n2", .out = "{}"              \
	}
#define ON_N2 "{\"kubernetes.io/hostname\":\"n2\"}"
#define MOVES(vm) "moves: a/" vm " " ON_N2 "\n"

static struct json_value *parse(const char *text)
{
	struct json_value *out = NULL;

	assert_int_equal(json_value_parse(&out, text, strlen(text), NULL), 0);
	return out;
}

/* Carries out a first plan and returns how many steps the last one has. */
static int run(const char *first, size_t *steps, struct error *err)
{
	struct json_value *plan = parse(first);
	int r = evacuation_run(&plan, &plugin.client, "n1", 3, err);

	*steps = json_value_count(json_value_at(plan, "status/steps"));
	json_value_free(plan);
	return r;
}

/* The same for what must succeed. */
static size_t succeeds(const char *first)
{
	struct error err = { 0 };
	size_t steps = 0;

	assert_int_equal(run(first, &steps, &err), 0);
	return steps;
}

/* ---- waves ---- */

static void a_plan_without_moves_is_done(void **state)
{
	(void)state;
	assert_int_equal(succeeds(PLAN("")), 0);
	assert_int_equal(outcome.runs, 0);
	assert_int_equal(plugin.waits, 0);
}

static void each_wave_is_followed_by_a_new_plan(void **state)
{
	static const struct exchange calls[] = {
		READY("x"),
		READY("y"),
		PLANS(STEP("1", "z")),
		READY("z"),
		PLANS(""),
	};

	(void)state;
	given(calls);
	/* Waves may come in any order. */
	assert_int_equal(succeeds(PLAN(STEP("3", "w") "," STEP("2",
				 "x") "," STEP("2", "y"))),
		0);
	assert_said("moves: a/x " ON_N2 " a/y " ON_N2
		    "\n"
		    "The new plan has 1 moves.\n" MOVES(
			    "z") "The new plan has 0 moves.\n");
	assert_int_equal(plugin.waits, 0);
}

static void a_plan_without_waves_is_one_wave(void **state)
{
	static const struct exchange calls[] = { READY("x"), READY("y"),
		PLANS("") };

	(void)state;
	given(calls);
	(void)succeeds(PLAN(STEP_AS("Migrate", "", "a", "x", "n2") "," STEP_AS(
		"Migrate", "", "a", "y", "n2")));
	assert_said("moves: a/x " ON_N2 " a/y " ON_N2
		    "\n"
		    "The new plan has 0 moves.\n");
}

/* Names go into paths. */
static void steps_that_move_no_vm_are_left_out(void **state)
{
	static const char *const steps[] = {
		STEP_AS("Start", "", "a", "x", "n2"),
		STEP_AS("Migrate", "", "../a", "x", "n2"),
		STEP_AS("Migrate", "", "a", "x/y", "n2"),
		STEP_AS("Migrate", "", "a", "x", ""),
		"{\"namespace\":\"a\",\"vmName\":\"x\",\"sourceNode\":\"/\","
		"\"targetNode\":\"n2\"}",
		"{}",
	};

	(void)state;
	for (size_t i = 0; i < count_of(steps); i++) {
		scoped_free char *plan = xasprintf(PLAN("%s"), steps[i]);

		assert_int_equal(succeeds(plan), 1);
	}
	assert_int_equal(outcome.runs, 0);
}

/* ---- VMs that are elsewhere, or cannot move ---- */

#define ELSEWHERE                                                              \
	{                                                                      \
		.call = LOOK_AT("a", "x"), .out = VM_ON("n2", "True")          \
	}
#define GONE                                                                   \
	{                                                                      \
		.call = LOOK_AT("a", "x"), .complaint = NOT_FOUND, .status = 1 \
	}
#define STEP_X STEP("1", "x")
#define ELSEWHERE_AGAIN PLANS(STEP_X), ELSEWHERE

static void a_plan_older_than_the_cluster_is_replaced(void **state)
{
	static const struct exchange calls[] = {
		ELSEWHERE,
		PLANS(STEP_X),
		GONE,
		PLANS(""),
	};

	(void)state;
	given(calls);
	(void)succeeds(PLAN(STEP_X));
	assert_said("The new plan has 1 moves.\nThe new plan has 0 moves.\n");
	assert_int_equal(plugin.waits, 2);
	assert_complaint("");
}

static void six_outdated_plans_in_a_row_end_the_run(void **state)
{
	static const struct exchange calls[] = { ELSEWHERE, ELSEWHERE_AGAIN,
		ELSEWHERE_AGAIN, ELSEWHERE_AGAIN, ELSEWHERE_AGAIN,
		PLANS(STEP_X), GONE };
	uint64_t before_us = fake_clock.monotonic_us;

	(void)state;
	given(calls);
	assert_int_equal(succeeds(PLAN(STEP_X)), 1);
	assert_int_equal(fake_clock.monotonic_us - before_us, 10000000);
	assert_int_equal(outcome.runs, 0);
	assert_complaint("");
	buffer_clear(&plugin.said);
}

static void a_wave_between_outdated_plans_begins_a_new_row(void **state)
{
	static const struct exchange calls[] = { ELSEWHERE, ELSEWHERE_AGAIN,
		ELSEWHERE_AGAIN, ELSEWHERE_AGAIN, PLANS(STEP("1", "y")),
		READY("y"), ELSEWHERE_AGAIN, ELSEWHERE_AGAIN, PLANS("") };

	(void)state;
	given(calls);
	assert_int_equal(succeeds(PLAN(STEP_X)), 0);
	assert_int_equal(outcome.runs, 1);
	buffer_clear(&plugin.said);
}

static void a_vm_that_cannot_move_is_tried_twice(void **state)
{
	static const struct exchange calls[] = {
		{ .call = LOOK_AT("a", "x"), .out = VM_ON("n1", "False") },
		READY("y"),
		PLANS(STEP_X "," STEP("1", "y")),
		{ .call = LOOK_AT("a", "x"), .out = VM_ON("n1", "False") },
		READY("y"),
		PLANS(STEP_X),
	};

	(void)state;
	given(calls);
	assert_int_equal(succeeds(PLAN(STEP_X "," STEP("1", "y"))), 1);
	assert_said("a/x: cannot move: a disk\n" MOVES(
		"y") "The new plan has 2 moves.\n"
		     "a/x: cannot move: a disk\n" MOVES(
			     "y") "The new plan has 1 moves.\n");
}

static void a_vm_whose_migration_failed_twice_stays(void **state)
{
	static const struct exchange calls[] = {
		READY("x"),
		READY("y"),
		PLANS(STEP_X),
		READY("x"),
		PLANS(STEP_X "," STEP("1", "y")),
		READY("y"),
		PLANS(STEP_X),
	};

	(void)state;
	outcome.failing = "x";
	given(calls);
	assert_int_equal(succeeds(PLAN(STEP_X "," STEP("1", "y"))), 1);
	assert_said("moves: a/x " ON_N2 " a/y " ON_N2 "\n"
		    "The new plan has 1 moves.\n" MOVES("x")
			    "The new plan has 2 moves.\n" MOVES("y")
				    "The new plan has 1 moves.\n");
}

static void failures_are_counted_by_namespace_and_name(void **state)
{
#define STEP_OF_B STEP_AS("Migrate", ",\"wave\":1", "b", "x", "n2")
#define READY_OF_B                                                             \
	{ .call = LOOK_AT("b", "x"), .out = VM_ON("n1", "True") },             \
	{                                                                      \
		.call = "get --raw /api/v1/nodes/n2", .out = "{}"              \
	}
	static const struct exchange calls[] = {
		READY("x"),
		PLANS(STEP_OF_B),
		READY_OF_B,
		PLANS(STEP_X),
		READY("x"),
		PLANS(STEP_X "," STEP_OF_B),
		READY_OF_B,
		PLANS(STEP_X "," STEP_OF_B),
	};

	(void)state;
	outcome.failing = "x";
	given(calls);
	assert_int_equal(succeeds(PLAN(STEP_X)), 2);
	assert_int_equal(outcome.runs, 4);
	buffer_clear(&plugin.said);
}

/* ---- failures ---- */

static void a_failure_of_the_api_server_ends_the_wave(void **state)
{
	static const struct exchange at_vm[] = {
		{ .call = LOOK_AT("a", "x"),
			.complaint = FORBIDDEN,
			.status = 1 },
	};
	static const struct exchange at_node[] = {
		{ .call = LOOK_AT("a", "x"), .out = VM_ON("n1", "True") },
		{ .call = "get --raw /api/v1/nodes/n2",
			.complaint = NOT_FOUND,
			.status = 1 },
	};
	struct error err = { 0 };
	size_t steps = 0;

	(void)state;
	given(at_vm);
	assert_int_equal(run(PLAN(STEP_X "," STEP("1", "y")), &steps, &err),
		-EACCES);
	assert_complaint(FORBIDDEN);
	given(at_node);
	assert_int_equal(run(PLAN(STEP_X "," STEP("1", "y")), &steps, &err),
		-ENOENT);
	assert_complaint(NOT_FOUND);
	assert_int_equal(outcome.runs, 0);
	assert_int_equal(steps, 2);
}

static void a_run_that_ends_early_asks_for_no_plan(void **state)
{
	static const struct exchange calls[] = { READY("x") };
	struct error err = { 0 };
	size_t steps = 0;

	(void)state;
	outcome.error = -EINTR;
	given(calls);
	assert_int_equal(run(PLAN(STEP_X), &steps, &err), -EINTR);
	assert_string_equal(err.text, "it ended");
	assert_said(MOVES("x"));
	assert_int_equal(steps, 1);
}

#define NO_LEADER                                                              \
	{                                                                      \
		.call = ASK, .complaint = "no leader\n", .status = 1           \
	}

static void a_plan_is_asked_for_again_while_nobody_leads(void **state)
{
	static const struct exchange calls[] = { READY("x"), NO_LEADER,
		NO_LEADER, PLANS("") };
	uint64_t before_us = fake_clock.monotonic_us;

	(void)state;
	given(calls);
	assert_int_equal(succeeds(PLAN(STEP_X)), 0);
	assert_int_equal(fake_clock.monotonic_us - before_us, 4000000);
	assert_said(MOVES("x") "The new plan has 0 moves.\n");
}

static void after_half_a_minute_without_a_leader_it_gives_up(void **state)
{
	enum { TRIES = 15 };
	struct exchange calls[2 + TRIES] = { READY("x") };
	struct error err = { 0 };
	size_t steps = 0;

	(void)state;
	for (size_t i = 2; i < count_of(calls); i++) {
		calls[i] = (struct exchange)NO_LEADER;
	}
	given(calls);
	assert_int_equal(run(PLAN(STEP_X), &steps, &err), -EREMOTEIO);
	assert_said(MOVES("x"));
	assert_int_equal(steps, 1);
}

static void a_plan_that_is_refused_is_asked_for_once(void **state)
{
	static const struct exchange calls[] = {
		READY("x"),
		{ .call = ASK, .complaint = FORBIDDEN, .status = 1 },
	};
	struct error err = { 0 };
	size_t steps = 0;

	(void)state;
	given(calls);
	assert_int_equal(run(PLAN(STEP_X), &steps, &err), -EACCES);
	assert_said(MOVES("x"));
	assert_int_equal(plugin.waits, 0);
	assert_int_equal(steps, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		waves_test(a_plan_without_moves_is_done),
		waves_test(each_wave_is_followed_by_a_new_plan),
		waves_test(a_plan_without_waves_is_one_wave),
		waves_test(steps_that_move_no_vm_are_left_out),
		waves_test(a_plan_older_than_the_cluster_is_replaced),
		waves_test(six_outdated_plans_in_a_row_end_the_run),
		waves_test(a_wave_between_outdated_plans_begins_a_new_row),
		waves_test(a_vm_that_cannot_move_is_tried_twice),
		waves_test(a_vm_whose_migration_failed_twice_stays),
		waves_test(failures_are_counted_by_namespace_and_name),
		waves_test(a_failure_of_the_api_server_ends_the_wave),
		waves_test(a_run_that_ends_early_asks_for_no_plan),
		waves_test(a_plan_is_asked_for_again_while_nobody_leads),
		waves_test(after_half_a_minute_without_a_leader_it_gives_up),
		waves_test(a_plan_that_is_refused_is_asked_for_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
