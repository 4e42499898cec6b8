/* Migrations that a user orders and follows: created with the user's rights,
 * some at once, until each has ended. Lines on standard output say what
 * happens. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>

struct cluster;
struct json_value;

enum flight_state { FLIGHT_WAITS, FLIGHT_MOVES, FLIGHT_ARRIVED, FLIGHT_FAILED };

struct flight {
	char *namespace, *vm;
	char *selector;	 /* JSON of addedNodeSelector, or NULL: anywhere */
	char *migration; /* the object's name; NULL: not created */
	char *phase;	 /* the last that was shown */
	enum flight_state state;
	bool is_uncertain; /* no answer came to the order */
	double began_s;
};

struct flights {
	struct cluster *cluster;
	unsigned parallel;
	struct flight *list;
	size_t count, capacity;
};

/* Adds a VM that is to move, or, if migration is not NULL, a migration that
 * exists. Texts are copied. */
void flights_add(struct flights *flights, const struct flight *flight);
void flights_fini(struct flights *flights);

/* Orders and follows all of them; asks about Ctrl-C. An order that the server
 * refuses is a flight that failed.
 * -EINTR: interrupted; other values: of kubectl/cluster.h. */
must_check int flights_run(struct flights *flights, struct error *err);

size_t flights_in_state(const struct flights *flights, enum flight_state state);

/* Whether a VirtualMachineInstanceMigration has ended. */
bool flights_has_ended(const struct json_value *migration);

/* The JSON that selects a node by its label kubernetes.io/hostname; the caller
 * frees *out. -ENOENT: there is no such node. */
must_check int flights_select_node(char **out, struct cluster *cluster,
	const char *node, struct error *err);
