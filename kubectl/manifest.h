/* Reads one object from a file or standard input, in YAML or JSON. */
#pragma once

#include "lib/error.h"

struct json_value;

enum { MANIFEST_MAX = 256 << 10 }; /* above that no question is answered */

/* name is a path, or "-". The caller frees *out.
 * -EFBIG: above MANIFEST_MAX; -EBADMSG: no YAML, or more than one object. */
must_check int manifest_read(struct json_value **out, const char *name,
	struct error *err);
