/* YAML read from outside, into the same tree as JSON.
 *
 * Only what Kubernetes' own files need: one document, no aliases (they let a
 * small file expand without end), no duplicate keys, no keys that are not
 * scalars. Of plain scalars, true, false, null, ~ and numbers have a type of
 * their own as in YAML 1.2; yes, on and 0755 are strings. */
#pragma once

#include "lib/error.h"

#include <stddef.h>

struct value;

enum { YAML_DEPTH_MAX = 32, YAML_NODES_MAX = 100000 };

/* Never gives NULL on success: an empty document is null. The caller frees
 * *out with value_free().
 * -EBADMSG: the sentence says at which line; -E2BIG: beyond a limit above. */
must_check int yaml_parse(struct value **out, const char *text, size_t len,
	struct error *err);
