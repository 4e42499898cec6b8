#include "kubectl/flights.h"

#include "kube/json_value.h"
#include "tests/support/fake_kubectl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

STEADY("a move is ordered once");

#define VMIS CLUSTER_KUBEVIRT "/namespaces/a/virtualmachineinstances/"
#define MIGRATIONS                                                             \
	CLUSTER_KUBEVIRT "/namespaces/a/virtualmachineinstancemigrations"
#define NAME "kubectl-plimsoll-000000000000000"

/* Calls about the migration NAME and a digit. */
#define ORDER_WITH(digit, vm, selector)                                        \
	"create --raw " MIGRATIONS                                             \
	" -f - < "                                                             \
	"{\"apiVersion\":\"kubevirt.io/v1\","                                  \
	"\"kind\":\"VirtualMachineInstanceMigration\","                        \
	"\"metadata\":{\"name\":\"" NAME digit                                 \
	"\",\"namespace\":\"a\"},"                                             \
	"\"spec\":{\"vmiName\":\"" vm "\"" selector "}}"
#define ORDER(digit, vm) ORDER_WITH(digit, vm, "")
#define LOOK(digit) "get --raw " MIGRATIONS "/" NAME digit
#define CANCEL(digit) "delete --raw " MIGRATIONS "/" NAME digit
#define LOOK_AT_VM(vm) "get --raw " VMIS vm

#define PHASE(phase) "{\"status\":{\"phase\":\"" phase "\"}}"
#define MOVED(node)                                                            \
	"{\"status\":{\"phase\":\"Succeeded\","                                \
	"\"migrationState\":{\"targetNode\":\"" node "\"}}}"

static struct flights flights;

static int setup(void **state)
{
	(void)plugin_setup(state);
	flights = (struct flights){ .cluster = &plugin.cluster, .parallel = 1 };
	return 0;
}

static int teardown(void **state)
{
	flights_fini(&flights);
	return plugin_teardown(state);
}

#define flights_test(test)                                                     \
	cmocka_unit_test_setup_teardown(test, setup, teardown)

static void add(const char *vm, const char *selector, const char *migration)
{
	scoped_free char *namespace = xstrdup("a"), *own = xstrdup(vm);
	scoped_free char *own_selector =
		selector == NULL ? NULL : xstrdup(selector);
	scoped_free char *own_migration =
		migration == NULL ? NULL : xstrdup(migration);

	flights_add(&flights,
		&(struct flight){ .namespace = namespace,
			.vm = own,
			.selector = own_selector,
			.migration = own_migration });
}

static int run(struct error *err)
{
	*err = (struct error){ 0 };
	return flights_run(&flights, err);
}

/* How many wait, move, have arrived and have failed. */
static void assert_states(size_t waits, size_t moves, size_t arrived,
	size_t failed)
{
	assert_int_equal(flights_in_state(&flights, FLIGHT_WAITS), waits);
	assert_int_equal(flights_in_state(&flights, FLIGHT_MOVES), moves);
	assert_int_equal(flights_in_state(&flights, FLIGHT_ARRIVED), arrived);
	assert_int_equal(flights_in_state(&flights, FLIGHT_FAILED), failed);
}

static struct json_value *parse(const char *text)
{
	struct json_value *out = NULL;

	assert_int_equal(json_value_parse(&out, text, strlen(text), NULL), 0);
	return out;
}

/* ---- the list ---- */

static void a_vm_waits_and_a_migration_that_exists_moves(void **state)
{
	(void)state;
	add("x", "{}", NULL);
	add("y", NULL, "m");
	assert_int_equal(flights.count, 2);
	assert_string_equal(flights.list[0].namespace, "a");
	assert_string_equal(flights.list[0].vm, "x");
	assert_string_equal(flights.list[0].selector, "{}");
	assert_null(flights.list[0].migration);
	assert_int_equal(flights.list[0].state, FLIGHT_WAITS);
	assert_null(flights.list[1].selector);
	assert_string_equal(flights.list[1].migration, "m");
	assert_int_equal(flights.list[1].state, FLIGHT_MOVES);
	assert_states(1, 1, 0, 0);
}

static void a_list_that_is_full_takes_no_more(void **state)
{
	(void)state;
	for (size_t i = 0; i < FLIGHTS_MAX + 1; i++) {
		add("x", NULL, NULL);
	}
	assert_int_equal(flights.count, FLIGHTS_MAX);
	flights_fini(&flights);
	assert_int_equal(flights.count, 0);
	assert_int_equal(flights.capacity, 0);
	assert_null(flights.list);
}

static void a_migration_ends_in_two_phases(void **state)
{
	static const struct {
		const char *text;
		bool has_ended;
	} cases[] = {
		{ PHASE("Succeeded"), true },
		{ PHASE("Failed"), true },
		{ PHASE("Running"), false },
		{ "{}", false },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct json_value *migration = parse(cases[i].text);

		assert_int_equal(flights_has_ended(migration),
			cases[i].has_ended);
		json_value_free(migration);
	}
}

/* ---- the selector of a node ---- */

#define LOOK_AT_NODE "get --raw /api/v1/nodes/n1"

static void a_node_is_selected_by_its_hostname(void **state)
{
	static const struct exchange answers[] = {
		{ .call = LOOK_AT_NODE,
			.out = "{\"metadata\":{\"labels\":{"
			       "\"kubernetes.io/hostname\":\"host\"}}}" },
		{ .call = LOOK_AT_NODE, .out = "{\"metadata\":{}}" },
		{ .call = LOOK_AT_NODE, .complaint = FORBIDDEN, .status = 1 },
	};
	static const char *const selectors[] = {
		"{\"kubernetes.io/hostname\":\"host\"}",
		"{\"kubernetes.io/hostname\":\"n1\"}",
		"{\"kubernetes.io/hostname\":\"n1\"}",
	};

	(void)state;
	given(answers);
	for (size_t i = 0; i < count_of(selectors); i++) {
		scoped_free char *out = NULL;

		assert_int_equal(
			flights_select_node(&out, &plugin.cluster, "n1", NULL),
			0);
		assert_string_equal(out, selectors[i]);
		assert_complaint("");
		assert_int_equal(plugin.cluster.status, 0);
	}
}

static void a_node_that_is_not_there_cannot_be_selected(void **state)
{
	static const struct exchange calls[] = {
		{ .call = LOOK_AT_NODE, .complaint = NOT_FOUND, .status = 1 },
	};
	char *out = NULL;

	(void)state;
	given(calls);
	assert_int_equal(flights_select_node(&out, &plugin.cluster, "n1", NULL),
		-ENOENT);
	assert_null(out);
	assert_complaint(NOT_FOUND);
}

/* ---- orders ---- */

static void a_vm_is_ordered_and_followed_to_its_node(void **state)
{
	static const struct exchange calls[] = {
		{ .call = ORDER("1", "x"), .out = "{}" },
		{ .call = LOOK("1"), .out = "{}" },
		{ .call = LOOK("1"), .out = PHASE("Scheduling") },
		{ .call = LOOK("1"), .out = PHASE("Scheduling") },
		{ .call = LOOK("1"),
			.out = "{\"status\":{\"phase\":\"Running\","
			       "\"migrationState\":{\"targetNode\":"
			       "\"n2\"}}}" },
		{ .call = LOOK("1"), .out = MOVED("n2") },
	};
	struct error err;

	(void)state;
	add("x", NULL, NULL);
	fake_clock_move(7000000);
	given(calls);
	assert_int_equal(run(&err), 0);
	assert_said(
		"a/x: ordered\n"
		"a/x: Pending\n"
		"a/x: Scheduling\n"
		"a/x: Running, to n2\n"
		"a/x: moved to n2 after 4s\n");
	assert_int_equal(plugin.waits, 4);
	assert_states(0, 0, 1, 0);
}

static void a_migration_that_exists_is_followed_since_it_was_added(void **state)
{
	static const struct exchange calls[] = {
		{ .call = LOOK("m"), .out = PHASE("Running") },
		{ .call = LOOK("m"), .out = MOVED("n2") },
	};
	struct error err;

	(void)state;
	add("x", NULL, NAME "m");
	fake_clock_move(7000000);
	given(calls);
	assert_int_equal(run(&err), 0);
	assert_said("a/x: Running\na/x: moved to n2 after 8s\n");
}

static void only_so_many_move_at_once(void **state)
{
	static const struct exchange calls[] = {
		{ .call = ORDER("1", "x"), .out = "{}" },
		{ .call = ORDER("2", "y"), .out = "{}" },
		{ .call = LOOK("1"), .out = PHASE("Running") },
		{ .call = LOOK("2"), .out = MOVED("n2") },
		{ .call = ORDER("3", "z"), .out = "{}" },
		{ .call = LOOK("1"), .out = MOVED("n3") },
		{ .call = LOOK("3"), .out = PHASE("Running") },
		{ .call = LOOK("3"), .out = MOVED("n4") },
	};
	struct error err;

	(void)state;
	flights.parallel = 2;
	add("x", NULL, NULL);
	add("y", NULL, NULL);
	add("z", NULL, NULL);
	given(calls);
	assert_int_equal(run(&err), 0);
	assert_said(
		"a/x: ordered\n"
		"a/y: ordered\n"
		"a/x: Running\n"
		"a/y: moved to n2 after 0s\n"
		"a/z: ordered\n"
		"a/x: moved to n3 after 1s\n"
		"a/z: Running\n"
		"a/z: moved to n4 after 1s\n");
	assert_states(0, 0, 3, 0);
}

#define SELECTOR "{\"node\":\"n2\"}"

static void an_order_names_the_chosen_node(void **state)
{
	static const struct exchange calls[] = {
		{ .call = ORDER_WITH("1", "x",
			  ",\"addedNodeSelector\":" SELECTOR),
			.out = "{\"spec\":{\"addedNodeSelector\":" SELECTOR
			       "}}" },
		{ .call = LOOK("1"), .out = MOVED("n2") },
	};
	struct error err;

	(void)state;
	add("x", SELECTOR, NULL);
	given(calls);
	assert_int_equal(run(&err), 0);
	assert_said("a/x: ordered\na/x: moved to n2 after 0s\n");
}

static void a_kubevirt_that_drops_the_chosen_node_is_told_to_stop(void **state)
{
	static const struct exchange calls[] = {
		{ .call = ORDER_WITH("1", "x",
			  ",\"addedNodeSelector\":" SELECTOR),
			.out = "{\"spec\":{}}" },
		{ .call = CANCEL("1") },
		{ .call = ORDER_WITH("2", "y",
			  ",\"addedNodeSelector\":" SELECTOR),
			.out = "{\"spec\":{}}" },
		{ .call = CANCEL("2"), .complaint = NOT_FOUND, .status = 1 },
	};
	struct error err;

	(void)state;
	add("x", SELECTOR, NULL);
	add("y", SELECTOR, NULL);
	given(calls);
	for (size_t i = 1; i <= 2; i++) {
		assert_int_equal(run(&err), -ENOTSUP);
		assert_string_equal(err.text,
			"this KubeVirt cannot move a VM to a chosen node: "
			"version 1.6 or newer can");
		assert_complaint("");
		assert_states(2 - i, 0, 0, i);
	}
}

static void a_selector_that_is_too_long_is_not_sent(void **state)
{
	enum { LONG = 20000 };
	scoped_free char *selector = xcalloc(LONG, 1);
	struct error err;

	(void)state;
	memset(selector, 'x', LONG - 1);
	add("x", selector, NULL);
	assert_int_equal(run(&err), -E2BIG);
	assert_string_equal(err.text, "the node selector is too long");
	assert_states(1, 0, 0, 0);
}

static void an_order_that_is_refused_was_never_given(void **state)
{
	static const struct exchange calls[] = {
		{ .call = ORDER("1", "x"),
			.complaint = FORBIDDEN,
			.status = 1 },
		{ .call = ORDER("2", "x"),
			.complaint = NOT_FOUND,
			.status = 1 },
	};
	struct error err;

	(void)state;
	add("x", NULL, NULL);
	add("y", NULL, NULL);
	given(calls);
	assert_int_equal(run(&err), -EACCES);
	assert_complaint(FORBIDDEN
		"The ClusterRole kubevirt.io:migrate has this right: ask for a "
		"RoleBinding to it in namespace a.\n");
	assert_int_equal(run(&err), -ENOENT);
	assert_complaint(NOT_FOUND);
	assert_states(2, 0, 0, 0);
}

/* The API server may have created the object. */
static void an_order_that_a_signal_cut_off_may_have_been_given(void **state)
{
	static const struct exchange calls[] = {
		{ .call = ORDER("1", "x"), .status = 128 },
		{ .call = LOOK("1"), .out = MOVED("n2") },
		{ .call = ORDER("2", "y"), .status = 127 },
	};
	struct error err;

	(void)state;
	add("x", NULL, NULL);
	add("y", NULL, NULL);
	given(calls);
	assert_int_equal(run(&err), -EREMOTEIO);
	assert_states(1, 1, 0, 0);
	assert_int_equal(run(&err), -EREMOTEIO);
	assert_said("a/x: moved to n2 after 0s\n");
	assert_states(1, 0, 1, 0);
}

static void a_name_without_random_numbers_is_of_time_and_process(void **state)
{
	static const char named[] = ORDER("1", "x");
	const char *name = strstr(named, NAME);
	scoped_free char *order = xasprintf(
		"%.*skubectl-plimsoll-%016" PRIx64 "%s", (int)(name - named),
		named, fake_clock.wall_us ^ (uint64_t)getpid() << 48,
		name + strlen(NAME "1"));
	const struct exchange calls[] = {
		{ .call = order, .complaint = NOT_FOUND, .status = 1 },
	};
	struct error err;

	(void)state;
	plugin.has_no_random = true;
	add("x", NULL, NULL);
	given(calls);
	assert_int_equal(run(&err), -ENOENT);
}

/* ---- ends ---- */

#define FAILED_BECAUSE(reason)                                                 \
	"{\"status\":{\"phase\":\"Failed\",\"migrationState\":{"               \
	"\"targetNode\":\"n2\",\"failureReason\":\"" reason "\"}}}"

/* Follows one migration with these calls and checks the last line. */
static void ends(const struct exchange *calls, size_t count, const char *said)
{
	struct error err;

	flights_fini(&flights);
	add("x", NULL, NAME "m");
	given_calls(calls, count);
	assert_int_equal(run(&err), 0);
	assert_said(said);
	assert_complaint("");
}

static void a_failure_has_the_reason_of_migration_or_vm(void **state)
{
	static const struct exchange own[] = {
		{ .call = LOOK("m"), .out = FAILED_BECAUSE("no room") },
	};
	static const struct exchange of_vm[] = {
		{ .call = LOOK("m"), .out = PHASE("Failed") },
		{ .call = LOOK_AT_VM("x"), .out = FAILED_BECAUSE("no time") },
	};
	static const struct exchange none[] = {
		{ .call = LOOK("m"), .out = PHASE("Failed") },
		{ .call = LOOK_AT_VM("x"), .out = "{}" },
	};

	(void)state;
	ends(own, count_of(own), "a/x: failed: no room after 0s\n");
	assert_states(0, 0, 0, 1);
	ends(of_vm, count_of(of_vm), "a/x: failed: no time after 0s\n");
	ends(none, count_of(none), "a/x: failed after 0s\n");
	assert_states(0, 0, 0, 1);
}

static void an_arrival_has_the_node_of_migration_or_vm(void **state)
{
	static const struct exchange of_vm[] = {
		{ .call = LOOK("m"), .out = PHASE("Succeeded") },
		{ .call = LOOK_AT_VM("x"),
			.out = "{\"status\":{\"nodeName\":\"n3\"}}" },
	};
	static const struct exchange none[] = {
		{ .call = LOOK("m"), .out = PHASE("Succeeded") },
		{ .call = LOOK_AT_VM("x"),
			.complaint = NOT_FOUND,
			.status = 1 },
	};

	(void)state;
	ends(of_vm, count_of(of_vm), "a/x: moved to n3 after 0s\n");
	ends(none, count_of(none), "a/x: moved after 0s\n");
	assert_states(0, 0, 1, 0);
	assert_int_equal(plugin.cluster.status, 0);
}

static void a_migration_that_is_gone_was_cancelled(void **state)
{
	static const struct exchange calls[] = {
		{ .call = LOOK("m"), .complaint = NOT_FOUND, .status = 1 },
	};

	(void)state;
	ends(calls, count_of(calls),
		"a/x: cancelled: somebody deleted the migration after 0s\n");
	assert_states(0, 0, 0, 1);
	assert_int_equal(plugin.cluster.status, 0);
}

/* ---- a server that does not answer ---- */

enum { MISSES = 60 };

static const struct exchange no_answer = { .call = LOOK("m"),
	.complaint = "no\n",
	.status = 1 };

static void a_silent_server_is_asked_for_a_minute(void **state)
{
	struct exchange calls[MISSES];
	struct error err;

	(void)state;
	for (size_t i = 0; i < MISSES; i++) {
		calls[i] = no_answer;
	}
	add("x", NULL, NAME "m");
	given(calls);
	assert_int_equal(run(&err), -EREMOTEIO);
	assert_int_equal(plugin.waits, MISSES - 1);
	assert_complaint("no\n");
	assert_states(0, 1, 0, 0);
}

static void an_answer_begins_the_minute_anew(void **state)
{
	struct exchange calls[2 * MISSES];
	struct error err;

	(void)state;
	for (size_t i = 0; i < count_of(calls); i++) {
		calls[i] = no_answer;
	}
	calls[MISSES - 1] =
		(struct exchange){ .call = LOOK("m"), .out = PHASE("Running") };
	calls[2 * MISSES - 1] =
		(struct exchange){ .call = LOOK("m"), .out = MOVED("n2") };
	add("x", NULL, NAME "m");
	given(calls);
	assert_int_equal(run(&err), 0);
	assert_said("a/x: Running\na/x: moved to n2 after 119s\n");
}

static void a_right_that_is_missing_ends_the_run_at_once(void **state)
{
	static const struct exchange calls[] = {
		{ .call = LOOK("m"), .complaint = FORBIDDEN, .status = 1 },
	};
	struct error err;

	(void)state;
	add("x", NULL, NAME "m");
	add("y", NULL, NAME "n");
	given(calls);
	assert_int_equal(run(&err), -EACCES);
	assert_states(0, 2, 0, 0);
}

/* ---- Ctrl-C ---- */

/* Two that move, one that then has arrived, one that waits. */
static void add_four(void)
{
	add("x", NULL, NAME "m");
	add("v", NULL, NAME "l");
	add("y", NULL, NAME "n");
	add("z", NULL, NULL);
	plugin.ctrl_c_wait = 1;
}

/* The look at them, and what it says. */
#define FOUR_LOOKS                                                             \
	{ .call = LOOK("m"), .out = PHASE("Running") },                        \
		{ .call = LOOK("l"), .out = MOVED("n2") },                     \
	{                                                                      \
		.call = LOOK("n"), .out = PHASE("Running")                     \
	}
#define FOUR_SAID                                                              \
	"a/x: Running\na/v: moved to n2 after 0s\na/y: Running\n"              \
	"? \nCancel 2 migrations that move now?\n"

static void ctrl_c_leaves_migrations_if_the_user_says_no(void **state)
{
	static const struct exchange calls[] = { FOUR_LOOKS };
	struct error err;

	(void)state;
	add_four();
	given(calls);
	assert_int_equal(run(&err), -EINTR);
	assert_string_equal(err.text,
		"interrupted; 2 migrations go on: kubectl get "
		"virtualmachineinstancemigrations");
	assert_said(FOUR_SAID);
	assert_states(1, 2, 1, 0);
}

static void ctrl_c_cancels_migrations_if_the_user_says_yes(void **state)
{
	static const struct exchange calls[] = {
		FOUR_LOOKS,
		{ .call = CANCEL("m"), .complaint = NOT_FOUND, .status = 1 },
		{ .call = CANCEL("n") },
	};
	struct error err;

	(void)state;
	add_four();
	plugin.says_yes = true;
	given(calls);
	assert_int_equal(run(&err), -EINTR);
	assert_string_equal(err.text, "interrupted");
	assert_said(FOUR_SAID
		"a/x: cancelled after 1s\n"
		"a/y: cancelled after 1s\n");
	assert_states(1, 0, 1, 2);
}

static void a_migration_that_cannot_be_cancelled_ends_the_cancelling(
	void **state)
{
	static const struct exchange calls[] = {
		FOUR_LOOKS,
		{ .call = CANCEL("m"), .complaint = FORBIDDEN, .status = 1 },
	};
	struct error err;

	(void)state;
	add_four();
	plugin.says_yes = true;
	given(calls);
	assert_int_equal(run(&err), -EACCES);
	assert_complaint(FORBIDDEN);
	assert_said(FOUR_SAID);
	assert_states(1, 2, 1, 0);
}

/* The signal also ends the kubectl that runs. */
static void ctrl_c_during_a_call_is_no_failure_of_the_call(void **state)
{
	static const struct exchange calls[] = {
		{ .call = LOOK("m"),
			.complaint = "cut off\n",
			.status = 130,
			.is_cut_off = true },
	};
	struct error err;

	(void)state;
	add("x", NULL, NAME "m");
	given(calls);
	assert_int_equal(run(&err), -EINTR);
	assert_string_equal(err.text,
		"interrupted; 1 migration goes on: kubectl get "
		"virtualmachineinstancemigrations");
	assert_said("? \nCancel 1 migration that moves now?\n");
	assert_complaint("");
	assert_int_equal(plugin.waits, 0);
}

static void ctrl_c_asks_nothing_if_nothing_moves(void **state)
{
	static const struct exchange calls[] = {
		{ .call = LOOK("m"), .out = MOVED("n2"), .is_cut_off = true },
	};
	struct error err;

	(void)state;
	add("x", NULL, NAME "m");
	given(calls);
	assert_int_equal(run(&err), -EINTR);
	assert_string_equal(err.text, "interrupted");
	assert_said("a/x: moved to n2 after 0s\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		flights_test(a_vm_waits_and_a_migration_that_exists_moves),
		flights_test(a_list_that_is_full_takes_no_more),
		flights_test(a_migration_ends_in_two_phases),
		flights_test(a_node_is_selected_by_its_hostname),
		flights_test(a_node_that_is_not_there_cannot_be_selected),
		flights_test(a_vm_is_ordered_and_followed_to_its_node),
		flights_test(
			a_migration_that_exists_is_followed_since_it_was_added),
		flights_test(only_so_many_move_at_once),
		flights_test(an_order_names_the_chosen_node),
		flights_test(
			a_kubevirt_that_drops_the_chosen_node_is_told_to_stop),
		flights_test(a_selector_that_is_too_long_is_not_sent),
		flights_test(an_order_that_is_refused_was_never_given),
		flights_test(
			an_order_that_a_signal_cut_off_may_have_been_given),
		flights_test(
			a_name_without_random_numbers_is_of_time_and_process),
		flights_test(a_failure_has_the_reason_of_migration_or_vm),
		flights_test(an_arrival_has_the_node_of_migration_or_vm),
		flights_test(a_migration_that_is_gone_was_cancelled),
		flights_test(a_silent_server_is_asked_for_a_minute),
		flights_test(an_answer_begins_the_minute_anew),
		flights_test(a_right_that_is_missing_ends_the_run_at_once),
		flights_test(ctrl_c_leaves_migrations_if_the_user_says_no),
		flights_test(ctrl_c_cancels_migrations_if_the_user_says_yes),
		flights_test(
			a_migration_that_cannot_be_cancelled_ends_the_cancelling),
		flights_test(ctrl_c_during_a_call_is_no_failure_of_the_call),
		flights_test(ctrl_c_asks_nothing_if_nothing_moves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
