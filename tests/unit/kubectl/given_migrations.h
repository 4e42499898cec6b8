/* Migrations that a test orders and follows with a kubectl that it plays. */
#pragma once

#include "kubectl/migrations.h"
#include "tests/support/fake_kubectl.h"

#include <errno.h>
#include <stdlib.h>

#define VMIS KUBEVIRT_API "/namespaces/a/virtualmachineinstances/"
#define MIGRATIONS KUBEVIRT_API "/namespaces/a/virtualmachineinstancemigrations"
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

static struct migrations migrations;

static inline int setup(void **state)
{
	(void)plugin_setup(state);
	migrations =
		(struct migrations){ .client = &plugin.client, .parallel = 1 };
	return 0;
}

static inline int teardown(void **state)
{
	migrations_fini(&migrations);
	return plugin_teardown(state);
}

#define migrations_test(test)                                                  \
	cmocka_unit_test_setup_teardown(test, setup, teardown)

static inline void add(const char *vm, const char *selector,
	const char *migration)
{
	scoped_free char *namespace = xstrdup("a"), *own = xstrdup(vm);
	scoped_free char *own_selector =
		selector == NULL ? NULL : xstrdup(selector);
	scoped_free char *own_migration =
		migration == NULL ? NULL : xstrdup(migration);

	migrations_add(&migrations,
		&(struct vm_migration){ .namespace = namespace,
			.vm = own,
			.selector = own_selector,
			.migration = own_migration });
}

static inline int run(struct error *err)
{
	*err = (struct error){ 0 };
	return migrations_run(&migrations, err);
}

/* How many wait, move, have arrived and have failed. */
static inline void assert_states(size_t waits, size_t moves, size_t arrived,
	size_t failed)
{
	assert_int_equal(migrations_in_state(&migrations, MIGRATION_WAITS),
		waits);
	assert_int_equal(migrations_in_state(&migrations, MIGRATION_MOVES),
		moves);
	assert_int_equal(migrations_in_state(&migrations, MIGRATION_ARRIVED),
		arrived);
	assert_int_equal(migrations_in_state(&migrations, MIGRATION_FAILED),
		failed);
}
