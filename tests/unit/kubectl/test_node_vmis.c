#include "kubectl/node_vmis.h"

#include "kubectl/migrations.h"
#include "tests/support/fake_kubectl.h"

#include <errno.h>
#include <string.h>

#define VMIS                                                                   \
	"get --raw " KUBEVIRT_API                                              \
	"/virtualmachineinstances?labelSelector=kubevirt.io%2FnodeName%3Dn1"   \
	"&limit=2000"
#define VMI(name, node, phase)                                                 \
	"{\"metadata\":{\"namespace\":\"a\",\"name\":\"" name                  \
	"\"},\"status\":{\"nodeName\":\"" node "\",\"phase\":\"" phase "\"}}"
#define TWO_VMS                                                                \
	{                                                                      \
		.call = VMIS,                                                  \
		.out = "{\"items\":[" VMI("x", "n1", "Running") "," VMI("y",   \
			"n1", "Scheduled") "]}"                                \
	}

#define MIGRATIONS                                                             \
	"get --raw " KUBEVIRT_API                                              \
	"/virtualmachineinstancemigrations?limit="                             \
	"2000"
#define MIGRATION(namespace, name, vm, phase)                                  \
	"{\"metadata\":{\"namespace\":\"" namespace "\",\"name\":\"" name      \
						    "\"},\"spec\":{"           \
						    "\"vmiName\":\"" vm        \
						    "\"},\"status\":{"         \
						    "\"phase\":\"" phase       \
						    "\"}}"

static void only_vms_that_are_on_the_node_count(void **state)
{
	static const struct exchange calls[] = {
		{ .call = VMIS,
			.out = "{\"items\":[" VMI("x", "n1", "Running") "," VMI(
				"moved", "n2", "Running") "," VMI("failed",
				"n1", "Failed") "," VMI("ended", "n1",
				"Succeeded") "," VMI("y", "n1",
				"Scheduled") "]}" },
	};
	struct node_vmis vms;

	(void)state;
	given(calls);
	assert_int_equal(node_vmis_list(&vms, &plugin.client, "n1", NULL), 0);
	assert_int_equal(vms.count, 2);
	assert_string_equal(vms.vms[0].namespace, "a");
	assert_string_equal(vms.vms[0].name, "x");
	assert_string_equal(vms.vms[1].name, "y");
	node_vmis_fini(&vms);
	assert_int_equal(vms.count, 0);
	assert_null(vms.vms);
}

static void a_list_that_fails_is_an_error(void **state)
{
	static const struct exchange calls[] = {
		{ .call = VMIS, .complaint = FORBIDDEN, .status = 1 },
	};
	struct node_vmis vms;

	(void)state;
	given(calls);
	assert_int_equal(node_vmis_list(&vms, &plugin.client, "n1", NULL),
		-EACCES);
	assert_int_equal(vms.count, 0);
	node_vmis_fini(&vms);
}

static void migrations_of_these_vms_that_have_not_ended_are_followed(
	void **state)
{
	static const struct exchange calls[] = {
		TWO_VMS,
		{ .call = MIGRATIONS,
			.out = "{\"items\":[" MIGRATION("a", "m1", "y",
				"Running") "," MIGRATION("a", "m2", "x",
				"Succeeded") "," MIGRATION("b", "m3", "x",
				"Running") "," MIGRATION("a", "m4", "z",
				"Running") "," MIGRATION("a", "m/5", "x",
				"Running") "]}" },
	};
	struct migrations migrations = { .client = &plugin.client };
	struct node_vmis vms;

	(void)state;
	given(calls);
	assert_int_equal(node_vmis_list(&vms, &plugin.client, "n1", NULL), 0);
	assert_int_equal(node_vmis_add_migrations(&migrations, &vms, NULL), 0);
	assert_int_equal(migrations.count, 1);
	assert_string_equal(migrations.list[0].namespace, "a");
	assert_string_equal(migrations.list[0].vm, "y");
	assert_string_equal(migrations.list[0].migration, "m1");
	assert_int_equal(migrations.list[0].state, MIGRATION_MOVES);
	migrations_fini(&migrations);
	node_vmis_fini(&vms);
}

/* A list of two pages, of which the second expired, and then the page. */
#define LISTED_AGAIN(list, page)                                               \
	{                                                                      \
		.call = list,                                                  \
		.out = "{\"metadata\":{\"continue\":\"c\"},"                   \
		       "\"items\":[" page "]}",                                \
	},                                                                     \
		{                                                              \
			.call = list "&continue=c",                            \
			.complaint = "Error from server (Expired): old\n",     \
			.status = 1,                                           \
		},                                                             \
	{                                                                      \
		.call = list, .out = "{\"items\":[" page "]}"                  \
	}

static void nothing_counts_twice_if_a_list_begins_again(void **state)
{
	static const struct exchange calls[] = {
		LISTED_AGAIN(VMIS, VMI("x", "n1", "Running")),
		LISTED_AGAIN(MIGRATIONS, MIGRATION("a", "m", "x", "Running")),
	};
	struct migrations migrations = { .client = &plugin.client };
	struct node_vmis vms;

	(void)state;
	given(calls);
	assert_int_equal(node_vmis_list(&vms, &plugin.client, "n1", NULL), 0);
	assert_int_equal(vms.count, 1);
	assert_int_equal(node_vmis_add_migrations(&migrations, &vms, NULL), 0);
	assert_int_equal(migrations.count, 1);
	migrations_fini(&migrations);
	node_vmis_fini(&vms);
}

static void a_node_without_vms_has_no_migrations_to_ask_for(void **state)
{
	struct migrations migrations = { .client = &plugin.client };
	struct node_vmis vms = { .node = "n1" };

	(void)state;
	assert_int_equal(node_vmis_add_migrations(&migrations, &vms, NULL), 0);
	assert_int_equal(migrations.count, 0);
}

#define node_test(test)                                                        \
	cmocka_unit_test_setup_teardown(test, plugin_setup, plugin_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		node_test(only_vms_that_are_on_the_node_count),
		node_test(a_list_that_fails_is_an_error),
		node_test(
			migrations_of_these_vms_that_have_not_ended_are_followed),
		node_test(nothing_counts_twice_if_a_list_begins_again),
		node_test(a_node_without_vms_has_no_migrations_to_ask_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
