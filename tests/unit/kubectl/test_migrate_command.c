#include "kubectl/command.h"

#include "kubectl/migrations.h"
#include "kubectl/terminal.h"
#include "tests/support/fake_kubectl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VMIS KUBEVIRT_API "/namespaces/a/virtualmachineinstances"
#define LIST "get --raw " VMIS "?labelSelector=tier%3Ddb&limit=2000"
#define STUCK "{\"status\":{\"phase\":\"Scheduling\",\"nodeName\":\"n1\"}}"

enum { MANY = 3000, STATUS_FAILED = 1 };

static size_t printed;
static struct buffer shown;   /* all that was printed */
static char *texts[MANY + 1]; /* owned, of the calls */

void __wrap_terminal_print(struct buffer *lines);
void __wrap_terminal_print(struct buffer *lines)
{
	printed++;
	buffer_append(&shown, lines->data, lines->len);
	buffer_clear(lines);
}

void __wrap_terminal_note(const char *format, ...);
void __wrap_terminal_note(const char *format, ...)
{
	char line[256];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	buffer_printf(&plugin.said, "! %s\n", line);
}

/* Each one moves, or fails if is_failing. */
static struct {
	size_t runs;
	bool is_failing;
} moves;

int __wrap_migrations_run(struct migrations *migrations, struct error *err);
int __wrap_migrations_run(struct migrations *migrations, struct error *err)
{
	(void)err;
	assert_int_equal(migrations->parallel, 3);
	moves.runs++;
	for (size_t i = 0; i < migrations->count; i++) {
		struct vm_migration *move = &migrations->list[i];

		buffer_printf(&plugin.said, "moves %s/%s to %s\n",
			move->namespace, move->vm,
			move->selector == NULL ? "-" : move->selector);
		move->state =
			moves.is_failing ? MIGRATION_FAILED : MIGRATION_ARRIVED;
	}
	return 0;
}

static int setup(void **state)
{
	printed = 0;
	memset(&moves, 0, sizeof(moves));
	(void)plugin_setup(state);
	shown = BUFFER_MAX(1 << 20);
	plugin.flags.namespace = "a";
	return 0;
}

static int teardown(void **state)
{
	buffer_fini(&shown);
	return plugin_teardown(state);
}

/* A list of VMs and a look at each of them. */
static void list_many(struct exchange calls[MANY + 1])
{
	struct buffer list = BUFFER_MAX(1 << 20);

	buffer_text(&list, "{\"items\":[");
	for (size_t i = 0; i < MANY; i++) {
		buffer_printf(&list, "%s{\"metadata\":{\"name\":\"v%zu\"}}",
			i == 0 ? "" : ",", i);
		texts[i + 1] = xasprintf("get --raw " VMIS "/v%zu", i);
		calls[i + 1] = (struct exchange){
			.call = texts[i + 1],
			.out = STUCK,
		};
	}
	buffer_text(&list, "]}");
	texts[0] = buffer_take(&list, NULL);
	calls[0] = (struct exchange){
		.call = LIST,
		.out = texts[0],
	};
}

/* No VM can move. */
static void select_all(void)
{
	struct error err = { 0 };

	plugin.flags.values[FLAG_SELECTOR] = "tier=db";
	assert_int_equal(migrate_command.run(&plugin.client, &err),
		STATUS_FAILED);
}

static void all_vms_that_a_selector_names_are_looked_at(void **state)
{
	static struct exchange calls[MANY + 1];

	(void)state;
	list_many(calls);
	given(calls);
	select_all();
	assert_int_equal(printed, MANY);
	for (size_t i = 0; i < count_of(texts); i++) {
		free(texts[i]);
	}
}

static void no_vm_is_looked_at_twice_if_the_list_begins_again(void **state)
{
	static const struct exchange calls[] = {
		{ .call = LIST,
			.out = "{\"metadata\":{\"continue\":\"c\"},\"items\":["
			       "{\"metadata\":{\"name\":\"x\"}}]}" },
		{ .call = LIST "&continue=c",
			.complaint = "Error from server (Expired): old\n",
			.status = 1 },
		{ .call = LIST,
			.out = "{\"items\":[{\"metadata\":{\"name\":\"x\"}}]"
			       "}" },
		{ .call = "get --raw " VMIS "/x", .out = STUCK },
	};

	(void)state;
	given(calls);
	select_all();
}

/* ---- previews and moves ---- */

#define VMI(name) "get --raw " VMIS "/" name
#define MOVABLE                                                                \
	"{\"status\":{\"phase\":\"Running\",\"nodeName\":\"n1\","              \
	"\"conditions\":[{\"type\":\"LiveMigratable\",\"status\":\"True\"}]}}"
#define NODE "get --raw /api/v1/nodes/n2"
#define LABELLED                                                               \
	"{\"metadata\":{\"labels\":{\"kubernetes.io/hostname\":\"h2\"}}}"
#define PLACE                                                                  \
	"create --raw " LOAD_API                                               \
	"/namespaces/a/placements -f - < {\"apiVersion\":\"" API_VERSION       \
	"\",\"kind\":\"Placement\",\"metadata\":{\"namespace\":\"a\"},"        \
	"\"spec\":{\"vmName\":\"x\"}}"
#define PLAN                                                                   \
	"create --raw " LOAD_API                                               \
	"/namespaces/a/plans -f - < {\"apiVersion\":\"" API_VERSION            \
	"\",\"kind\":\"Plan\",\"metadata\":{\"namespace\":\"a\"},"             \
	"\"spec\":{\"goal\":\"Move\",\"vmName\":\"x\"}}"
#define API_VERSION "load.plimsoll.io/v1alpha1"
#define FEASIBLE                                                               \
	"{\"status\":{\"nodes\":[{\"name\":\"n2\",\"feasible\":true}]}}"
#define LOAD_OF_VM "get --raw " LOAD_API "/namespaces/a/vmloads/x"
#define LOAD_OF(node) "get --raw " LOAD_API "/nodeloads/" node
#define USE "{\"status\":{\"usedCores5m\":2,\"memoryBytes\":400}}"
#define USE_OF_NODE(cores, available)                                          \
	"{\"status\":{\"ageSeconds\":3,\"cpu\":{\"cores\":8,"                  \
	"\"usedCores5m\":" cores                                               \
	"},\"memory\":{\"totalBytes\":1000,\"availableBytes\":" available      \
	"}}}"

/* One VM, to the node n2. */
static int migrate(struct error *err)
{
	plugin.flags.names[0] = "vm/x";
	plugin.flags.name_count = 1;
	plugin.flags.values[FLAG_TO] = "n2";
	*err = (struct error){ 0 };
	return migrate_command.run(&plugin.client, err);
}

static void assert_shown(const char *text)
{
	assert_string_equal(shown.len == 0 ? "" : shown.data, text);
}

static void a_selector_that_fits_no_vm_says_so(void **state)
{
	static const struct exchange calls[] = {
		{ .call = LIST, .out = "{\"items\":[]}" },
	};
	struct error err = { 0 };

	(void)state;
	given(calls);
	plugin.flags.values[FLAG_SELECTOR] = "tier=db";
	assert_int_equal(migrate_command.run(&plugin.client, &err), 0);
	assert_said("! No resources found in a namespace.\n");
	assert_shown("");
}

static void a_preview_shows_both_ends_and_changes_nothing(void **state)
{
	static const struct exchange calls[] = {
		{ .call = NODE, .out = LABELLED },
		{ .call = VMI("x"), .out = MOVABLE },
		{ .call = PLACE, .out = FEASIBLE },
		{ .call = LOAD_OF_VM, .out = USE },
		{ .call = LOAD_OF("n1"), .out = USE_OF_NODE("6", "250") },
		{ .call = LOAD_OF("n2"), .out = USE_OF_NODE("1", "900") },
	};
	struct error err;

	(void)state;
	given(calls);
	assert_int_equal(migrate(&err), 0);
	assert_shown(
		"x can move from n1 to n2.\n"
		"NODE   CPU(5m)   CPU(then)   MEMORY(now)   "
		"MEMORY(then)   AGE\n"
		"n1     75%       50%         75%           "
		"35%            3s\n"
		"n2     12%       38%         10%           "
		"50%            3s\n"
		"\n");
	assert_said("Nothing was changed. --yes moves 1 VM.\n");
}

static void figures_that_the_user_may_not_see_are_unknown(void **state)
{
	static const struct exchange calls[] = {
		{ .call = NODE, .out = LABELLED },
		{ .call = VMI("x"), .out = MOVABLE },
		{ .call = PLACE, .out = FEASIBLE },
		{ .call = LOAD_OF_VM, .complaint = NOT_FOUND, .status = 1 },
		{ .call = LOAD_OF("n1"), .complaint = FORBIDDEN, .status = 1 },
		{ .call = LOAD_OF("n2"), .out = USE_OF_NODE("4", "500") },
	};
	struct error err;

	(void)state;
	given(calls);
	assert_int_equal(migrate(&err), 0);
	assert_complaint("");
	assert_shown(
		"x can move from n1 to n2.\n"
		"NODE   CPU(5m)   CPU(then)   MEMORY(now)   "
		"MEMORY(then)   AGE\n"
		"n1     -         -           -             "
		"-              <unknown>\n"
		"n2     50%       -           50%           "
		"-              3s\n"
		"\n");
	assert_said("Nothing was changed. --yes moves 1 VM.\n");
}

/* The end of the list of calls is the one that fails. */
static void figures_that_cannot_be_read_end_the_preview(void **state)
{
	static const struct exchange calls[] = {
		{ .call = NODE, .out = LABELLED },
		{ .call = VMI("x"), .out = MOVABLE },
		{ .call = PLACE, .out = FEASIBLE },
		{ .call = LOAD_OF_VM, .out = USE },
		{ .call = LOAD_OF("n1"), .out = USE_OF_NODE("6", "250") },
		{ .call = LOAD_OF("n2"), .out = USE_OF_NODE("1", "900") },
	};
	struct error err;

	(void)state;
	for (size_t i = 0; i < count_of(calls); i++) {
		struct exchange some[count_of(calls)];

		memcpy(some, calls, sizeof(some));
		some[i].status = 1;
		given_calls(some, i + 1);
		assert_int_equal(migrate(&err), -EREMOTEIO);
		assert_null(strstr(shown.len == 0 ? "" : shown.data, "CPU"));
		assert_string_equal(err.text, "kubectl ended with status 1");
	}
}

static void a_node_that_is_not_feasible_gets_no_vm(void **state)
{
	static const struct exchange calls[] = {
		{ .call = NODE, .out = LABELLED },
		{ .call = VMI("x"), .out = MOVABLE },
		{ .call = PLACE,
			.out = "{\"status\":{\"nodes\":[{\"name\":\"n2\","
			       "\"reasons\":[\"full\",\"cordoned\"]}]}}" },
		{ .call = LOAD_OF_VM, .complaint = NOT_FOUND, .status = 1 },
		{ .call = LOAD_OF("n1"), .complaint = NOT_FOUND, .status = 1 },
		{ .call = LOAD_OF("n2"), .complaint = NOT_FOUND, .status = 1 },
		{ .call = NODE, .out = LABELLED },
		{ .call = VMI("x"), .out = MOVABLE },
		{ .call = PLACE, .out = "{\"status\":{\"nodes\":[]}}" },
		{ .call = LOAD_OF_VM, .complaint = NOT_FOUND, .status = 1 },
		{ .call = LOAD_OF("n1"), .complaint = NOT_FOUND, .status = 1 },
		{ .call = LOAD_OF("n2"), .complaint = NOT_FOUND, .status = 1 },
	};
	struct error err;

	(void)state;
	given(calls);
	assert_int_equal(migrate(&err), STATUS_FAILED);
	assert_non_null(
		strstr(shown.data, "\n  n2 is not feasible: full; cordoned\n"));
	assert_int_equal(migrate(&err), STATUS_FAILED);
	assert_non_null(strstr(shown.data,
		"\n  n2 is not feasible: the scheduler does not know it\n"));
}

static void a_node_that_the_answer_leaves_out_may_be_feasible(void **state)
{
	static const struct exchange calls[] = {
		{ .call = NODE, .out = LABELLED },
		{ .call = VMI("x"), .out = MOVABLE },
		{ .call = PLACE, .out = "{\"status\":{\"nodesLeftOut\":1}}" },
		{ .call = LOAD_OF_VM, .complaint = NOT_FOUND, .status = 1 },
		{ .call = LOAD_OF("n1"), .complaint = NOT_FOUND, .status = 1 },
		{ .call = LOAD_OF("n2"), .complaint = NOT_FOUND, .status = 1 },
	};
	struct error err;

	(void)state;
	given(calls);
	assert_int_equal(migrate(&err), 0);
	assert_non_null(strstr(shown.data,
		"\n  Whether n2 is feasible is not known: the answer has not "
		"all nodes.\n"));
	assert_said("Nothing was changed. --yes moves 1 VM.\n");
}

static void a_vm_stays_if_it_is_on_its_target(void **state)
{
	static const struct exchange calls[] = {
		{ .call = NODE, .out = LABELLED },
		{ .call = VMI("x"),
			.out = "{\"status\":{\"phase\":\"Running\","
			       "\"nodeName\":\"n2\",\"conditions\":[{\"type\":"
			       "\"LiveMigratable\",\"status\":\"True\"}]}}" },
	};
	struct error err;

	(void)state;
	given(calls);
	assert_int_equal(migrate(&err), STATUS_FAILED);
	assert_shown("x on n2 cannot move: it is on this node.\n");
}

static void without_a_target_the_plan_is_shown(void **state)
{
	static const struct exchange calls[] = {
		{ .call = VMI("x"), .out = MOVABLE },
		{ .call = PLAN,
			.out = "{\"status\":{\"sentence\":\"It moves to n3\","
			       "\"stuck\":[{\"vmName\":\"y\",\"reason\":"
			       "\"a disk\"}],\"nodes\":[{\"name\":\"n3\","
			       "\"cpuBefore\":0.5,\"cpuAfter\":1}]}}" },
	};
	struct error err = { 0 };

	(void)state;
	given(calls);
	plugin.flags.names[0] = "x";
	plugin.flags.name_count = 1;
	assert_int_equal(migrate_command.run(&plugin.client, &err), 0);
	assert_shown(
		"x can move from n1.\n"
		"It moves to n3\n"
		"\nThese VMs cannot move:\n"
		"NAMESPACE   VM   NODE   REASON\n"
		"-           y    -      a disk\n"
		"\nWhat the nodes would look like:\n"
		"NODE   CPU(expected)   CPU(then)   MEMORY(now)   "
		"MEMORY(then)\n"
		"n3     50%             100%        -             -\n"
		"\n");
	assert_said("Nothing was changed. --yes moves 1 VM.\n");
}

static int move_with(struct exchange vmi_of_y)
{
	const struct exchange calls[] = {
		{ .call = VMI("x"), .out = MOVABLE },
		{ .call = PLAN, .out = "{}" },
		vmi_of_y,
	};
	struct error err = { 0 };

	given(calls);
	plugin.flags.names[0] = "x";
	plugin.flags.names[1] = "y";
	plugin.flags.name_count = 2;
	plugin.flags.values[FLAG_NODE_SELECTOR] = "zone=b";
	plugin.flags.values[FLAG_YES] = "true";
	plugin.flags.values[FLAG_PARALLEL] = "3";
	return migrate_command.run(&plugin.client, &err);
}

static void what_can_move_is_moved_if_the_user_says_yes(void **state)
{
	static const struct exchange stuck = { .call = VMI("y"), .out = STUCK };

	(void)state;
	assert_int_equal(move_with(stuck), STATUS_FAILED);
	assert_int_equal(moves.runs, 1);
	assert_said("moves a/x to {\"zone\":\"b\"}\n");
}

static void a_move_that_fails_is_the_status(void **state)
{
	struct error err = { 0 };

	(void)state;
	for (int is_failing = 0; is_failing < 2; is_failing++) {
		static const struct exchange calls[] = {
			{ .call = VMI("x"), .out = MOVABLE },
			{ .call = PLAN, .out = "{}" },
		};

		moves.is_failing = is_failing;
		given(calls);
		plugin.flags.names[0] = "x";
		plugin.flags.name_count = 1;
		plugin.flags.values[FLAG_YES] = "true";
		plugin.flags.values[FLAG_PARALLEL] = "3";
		assert_int_equal(migrate_command.run(&plugin.client, &err),
			is_failing ? STATUS_FAILED : 0);
		assert_said("moves a/x to -\n");
	}
}

static void a_dry_run_moves_nothing(void **state)
{
	static const struct exchange calls[] = {
		{ .call = NODE, .out = LABELLED },
		{ .call = VMI("x"), .out = MOVABLE },
		{ .call = PLACE, .out = FEASIBLE },
		{ .call = LOAD_OF_VM, .complaint = NOT_FOUND, .status = 1 },
		{ .call = LOAD_OF("n1"), .complaint = NOT_FOUND, .status = 1 },
		{ .call = LOAD_OF("n2"), .complaint = NOT_FOUND, .status = 1 },
	};
	struct error err;

	(void)state;
	given(calls);
	plugin.flags.values[FLAG_YES] = "true";
	plugin.flags.values[FLAG_DRY_RUN] = "true";
	assert_int_equal(migrate(&err), 0);
	assert_said("Nothing was changed. --yes moves 1 VM.\n");
}

static void what_names_no_vm_or_no_node_is_refused(void **state)
{
	static const struct {
		const char *name, *labels, *to, *node_labels, *text;
	} cases[] = {
		{ NULL, NULL, NULL, NULL,
			"You must name VMs, or select them with -l" },
		{ "x", "a=b", NULL, NULL,
			"You must name VMs, or select them with -l" },
		{ "vm/", NULL, NULL, NULL, "'vm/' is not the name of a VM" },
		{ "x/y", NULL, NULL, NULL, "'x/y' is not the name of a VM" },
		{ "x", NULL, "n/2", NULL, "'n/2' is not the name of a node" },
		{ "x", NULL, "n2", "a=b",
			"--to and --node-selector exclude each other" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct error err = { 0 };

		plugin.flags.names[0] = cases[i].name;
		plugin.flags.name_count = cases[i].name == NULL ? 0 : 1;
		plugin.flags.values[FLAG_SELECTOR] = cases[i].labels;
		plugin.flags.values[FLAG_TO] = cases[i].to;
		plugin.flags.values[FLAG_NODE_SELECTOR] = cases[i].node_labels;
		assert_int_equal(migrate_command.run(&plugin.client, &err),
			COMMAND_USAGE);
		assert_string_equal(err.text, cases[i].text);
	}
}

#define migrate_test(test)                                                     \
	cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		migrate_test(all_vms_that_a_selector_names_are_looked_at),
		migrate_test(no_vm_is_looked_at_twice_if_the_list_begins_again),
		migrate_test(a_selector_that_fits_no_vm_says_so),
		migrate_test(a_preview_shows_both_ends_and_changes_nothing),
		migrate_test(figures_that_the_user_may_not_see_are_unknown),
		migrate_test(figures_that_cannot_be_read_end_the_preview),
		migrate_test(a_node_that_is_not_feasible_gets_no_vm),
		migrate_test(a_node_that_the_answer_leaves_out_may_be_feasible),
		migrate_test(a_vm_stays_if_it_is_on_its_target),
		migrate_test(without_a_target_the_plan_is_shown),
		migrate_test(what_can_move_is_moved_if_the_user_says_yes),
		migrate_test(a_move_that_fails_is_the_status),
		migrate_test(a_dry_run_moves_nothing),
		migrate_test(what_names_no_vm_or_no_node_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
