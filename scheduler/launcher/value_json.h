/* Writes a JSON value that was parsed. */
#pragma once

#include "kube/json_value.h"
#include "lib/json.h"

#include <stdbool.h>

/* False: it is nested too deeply for the writer, and what was written is of no
 * use. NULL writes nothing. */
must_check bool value_json_write(struct json *j, const char *key,
	const struct json_value *value);

/* The same for the members of an object alone. */
must_check bool value_json_write_members(struct json *j,
	const struct json_value *object);
