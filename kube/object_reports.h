/* A reflector's reports to its handler: objects, and those that are gone. */
#pragma once

#include "kube/reflector.h"
#include "lib/map.h"

#include <stdbool.h>
#include <stdint.h>

/* The keys and uids of all objects of a kind, to find those deleted while no
 * watch was open. Each list is a round: object_set_begin(), object_set_add()
 * for each item, object_set_sweep() at the end. An interrupted round is started
 * again. */
struct object_set {	    /* zeroed: empty */
	struct map objects; /* "namespace/name" -> struct set_entry */
	uint64_t round;
};

/* Receives a deleted object; key and uid are borrowed for the call. False
 * stops, and the set is not used any more. */
typedef bool (*object_set_gone)(void *owner, const char *key, const char *uid);

void object_set_fini(struct object_set *set); /* zeroed is fine */

void object_set_begin(struct object_set *set);

/* Adds an object. Returns the previous uid under key if it differs, otherwise
 * NULL. The caller frees it. */
char *object_set_add(struct object_set *set, const char *key, const char *uid);

/* Removes the object. False: it was not in the set. */
bool object_set_remove(struct object_set *set, const char *key);

/* Removes and reports the objects not added since object_set_begin(). */
void object_set_sweep(struct object_set *set, object_set_gone gone,
	void *owner);

struct object_reports {
	struct reflector_handler handler;
	struct object_set objects;
	bool is_synced; /* all objects have been reported once */
	bool is_closed; /* set by a handler: nothing more is reported */
};

void object_reports_fini(struct object_reports *reports);

/* All objects are reported from here to object_reports_end_all(). */
void object_reports_begin_all(struct object_reports *reports);

/* The functions below return false if a handler closed the reflector. An object
 * without a name or uid is ignored. */

/* Reports those that were not reported since object_reports_begin_all() as
 * gone; and the first time, that all objects have been reported. */
bool object_reports_end_all(struct object_reports *reports);

/* The object exists. If another object had its name, that is gone. */
bool object_reports_add(struct object_reports *reports,
	const struct json_value *object);

/* The object is gone, which is reported if its existence was. */
bool object_reports_remove(struct object_reports *reports,
	const struct json_value *object);
