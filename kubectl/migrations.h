/* Migrations that a user orders and follows: created with the user's rights,
 * some at once, until each has ended. Lines on standard output say what
 * happens. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>

struct api_client;
struct json_value;

enum migration_state {
	MIGRATION_WAITS,
	MIGRATION_MOVES,
	MIGRATION_ARRIVED,
	MIGRATION_FAILED
};

struct vm_migration {
	char *namespace, *vm;
	char *selector;	 /* JSON of addedNodeSelector, or NULL: anywhere */
	char *migration; /* the object's name; NULL: not created */
	char *phase;	 /* the last that was shown */
	enum migration_state state;
	bool is_uncertain; /* no answer came to the order */
	double began_s;
};

struct migrations {
	struct api_client *client;
	unsigned parallel;
	struct vm_migration *list;
	size_t count, capacity;
};

/* Adds a VM that is to move, or, if migration is not NULL, a migration that
 * exists. Texts are copied. */
void migrations_add(struct migrations *migrations,
	const struct vm_migration *move);
void migrations_fini(struct migrations *migrations);

/* Orders and follows all of them; asks about Ctrl-C. An order that the server
 * refuses is a migration that failed.
 * -EINTR: interrupted; other values: of kubectl/api_client.h. */
must_check int migrations_run(struct migrations *migrations, struct error *err);

size_t migrations_in_state(const struct migrations *migrations,
	enum migration_state state);

/* Whether a VirtualMachineInstanceMigration has ended. */
bool migrations_has_ended(const struct json_value *migration);

/* The JSON that selects a node by its label kubernetes.io/hostname; the caller
 * frees *out. -ENOENT: there is no such node. */
must_check int migrations_select_node(char **out, struct api_client *client,
	const char *node, struct error *err);
