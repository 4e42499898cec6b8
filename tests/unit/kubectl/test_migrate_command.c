#include "kubectl/command.h"

#include "kubectl/terminal.h"
#include "tests/support/fake_kubectl.h"

#include <stdlib.h>

#define VMIS KUBEVIRT_API "/namespaces/a/virtualmachineinstances"
#define LIST "get --raw " VMIS "?labelSelector=tier%3Ddb&limit=2000"
#define STUCK "{\"status\":{\"phase\":\"Scheduling\",\"nodeName\":\"n1\"}}"

enum { MANY = 3000, STATUS_FAILED = 1 };

static size_t printed;
static char *texts[MANY + 1]; /* owned, of the calls */

void __wrap_terminal_print(struct buffer *lines);
void __wrap_terminal_print(struct buffer *lines)
{
	printed++;
	buffer_clear(lines);
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

	printed = 0;
	plugin.flags.namespace = "a";
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			all_vms_that_a_selector_names_are_looked_at,
			plugin_setup, plugin_teardown),
		cmocka_unit_test_setup_teardown(
			no_vm_is_looked_at_twice_if_the_list_begins_again,
			plugin_setup, plugin_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
