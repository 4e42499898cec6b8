/* A reflector's reports to its handler: objects, and those that are gone.
 * Keeps the keys and uids of the reported objects. */
#pragma once

#include "kube/object_set.h"
#include "kube/reflector.h"

#include <stdbool.h>

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
