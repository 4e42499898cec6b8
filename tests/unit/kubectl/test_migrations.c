#include "kubectl/migrations.h"

#include "kube/json_value.h"
#include "tests/unit/kubectl/given_migrations.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

STEADY("a move is ordered once");

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
	assert_int_equal(migrations.count, 2);
	assert_string_equal(migrations.list[0].namespace, "a");
	assert_string_equal(migrations.list[0].vm, "x");
	assert_string_equal(migrations.list[0].selector, "{}");
	assert_null(migrations.list[0].migration);
	assert_int_equal(migrations.list[0].state, MIGRATION_WAITS);
	assert_null(migrations.list[1].selector);
	assert_string_equal(migrations.list[1].migration, "m");
	assert_int_equal(migrations.list[1].state, MIGRATION_MOVES);
	assert_states(1, 1, 0, 0);
}

static void a_list_takes_as_many_as_there_are(void **state)
{
	enum { MANY = 3000 };

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		add("x", NULL, NULL);
	}
	assert_int_equal(migrations.count, MANY);
	migrations_fini(&migrations);
	assert_int_equal(migrations.count, 0);
	assert_int_equal(migrations.capacity, 0);
	assert_null(migrations.list);
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

		assert_int_equal(migrations_has_ended(migration),
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

		assert_int_equal(migrations_select_node(&out, &plugin.client,
					 "n1", NULL),
			0);
		assert_string_equal(out, selectors[i]);
		assert_complaint("");
		assert_int_equal(plugin.client.status, 0);
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
	assert_int_equal(
		migrations_select_node(&out, &plugin.client, "n1", NULL),
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
	migrations.parallel = 2;
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

#define ROLE                                                                   \
	"The ClusterRole kubevirt.io:migrate has this right: ask for a "       \
	"RoleBinding to it in namespace a.\n"

static void an_order_that_is_refused_holds_up_no_other(void **state)
{
	static const struct exchange calls[] = {
		{ .call = ORDER("1", "v"), .out = "{}" },
		{ .call = ORDER("2", "w"),
			.complaint = FORBIDDEN,
			.status = 1 },
		{ .call = ORDER("3", "x"),
			.complaint = "Warning: old\n"
				     "Error from server: it moves already\n",
			.status = 1 },
		{ .call = ORDER("4", "y"),
			.complaint = "The request is invalid: a\n* b\n",
			.status = 1 },
		{ .call = ORDER("5", "z"), .out = "{}" },
		{ .call = LOOK("1"), .out = MOVED("n2") },
		{ .call = LOOK("5"), .out = MOVED("n2") },
	};
	static const char *const vms[] = { "v", "w", "x", "y", "z" };
	struct error err;

	(void)state;
	migrations.parallel = 2;
	for (size_t i = 0; i < count_of(vms); i++) {
		add(vms[i], NULL, NULL);
	}
	given(calls);
	assert_int_equal(run(&err), 0);
	assert_said(
		"a/v: ordered\n"
		"a/w: refused: Error from server (Forbidden): you may "
		"not\n" ROLE
		"a/x: refused: Warning: old Error from server: it moves "
		"already\n"
		"a/y: refused: The request is invalid: a * b\n"
		"a/z: ordered\n"
		"a/v: moved to n2 after 0s\n"
		"a/z: moved to n2 after 0s\n");
	assert_states(0, 0, 2, 3);
	assert_complaint("");
	assert_int_equal(plugin.client.status, 0);
}

/* The API server may have created the object. */
static void an_order_without_an_answer_may_have_been_given(void **state)
{
	static const struct exchange calls[] = {
		{ .call = ORDER("1", "x"), .status = 128 },
		{ .call = ORDER("2", "y"), .complaint = "no\n", .status = 1 },
		{ .call = LOOK("1"), .out = PHASE("Running") },
		{ .call = LOOK("2"), .complaint = NOT_FOUND, .status = 1 },
		{ .call = LOOK("1"), .complaint = NOT_FOUND, .status = 1 },
	};
	struct error err;

	(void)state;
	migrations.parallel = 2;
	add("x", NULL, NULL);
	add("y", NULL, NULL);
	given(calls);
	assert_int_equal(run(&err), 0);
	assert_said(
		"a/x: ordered\n"
		"a/x: Running\n"
		"a/y: not ordered: the server did not answer after 0s\n"
		"a/x: cancelled: somebody deleted the migration after 1s\n");
	assert_states(0, 0, 0, 2);
}

static void a_kubectl_that_cannot_run_orders_nothing(void **state)
{
	static const struct exchange calls[] = {
		{ .call = ORDER("1", "x"), .error = -ENOENT },
	};
	struct error err;

	(void)state;
	add("x", NULL, NULL);
	given(calls);
	assert_int_equal(run(&err), -ENOENT);
	assert_string_equal(err.text, "kubectl does not run");
	assert_states(1, 0, 0, 0);
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
	assert_int_equal(run(&err), 0);
	assert_said(
		"a/x: refused: Error from server (NotFound): it is not "
		"there\n");
}

/* ---- ends ---- */

#define FAILED_BECAUSE(reason)                                                 \
	"{\"status\":{\"phase\":\"Failed\",\"migrationState\":{"               \
	"\"targetNode\":\"n2\",\"failureReason\":\"" reason "\"}}}"

/* Follows one migration with these calls and checks the last line. */
static void ends(const struct exchange *calls, size_t count, const char *said)
{
	struct error err;

	migrations_fini(&migrations);
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
	assert_int_equal(plugin.client.status, 0);
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
	assert_int_equal(plugin.client.status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		migrations_test(a_vm_waits_and_a_migration_that_exists_moves),
		migrations_test(a_list_takes_as_many_as_there_are),
		migrations_test(a_migration_ends_in_two_phases),
		migrations_test(a_node_is_selected_by_its_hostname),
		migrations_test(a_node_that_is_not_there_cannot_be_selected),
		migrations_test(a_vm_is_ordered_and_followed_to_its_node),
		migrations_test(
			a_migration_that_exists_is_followed_since_it_was_added),
		migrations_test(only_so_many_move_at_once),
		migrations_test(an_order_names_the_chosen_node),
		migrations_test(
			a_kubevirt_that_drops_the_chosen_node_is_told_to_stop),
		migrations_test(a_selector_that_is_too_long_is_not_sent),
		migrations_test(an_order_that_is_refused_holds_up_no_other),
		migrations_test(an_order_without_an_answer_may_have_been_given),
		migrations_test(a_kubectl_that_cannot_run_orders_nothing),
		migrations_test(
			a_name_without_random_numbers_is_of_time_and_process),
		migrations_test(a_failure_has_the_reason_of_migration_or_vm),
		migrations_test(an_arrival_has_the_node_of_migration_or_vm),
		migrations_test(a_migration_that_is_gone_was_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
