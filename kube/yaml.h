/* Parses YAML from outside into a JSON tree.
 *
 * Supports only what Kubernetes files need: one document, no aliases (with them
 * a small file can expand without limit), no duplicate keys and only scalar
 * keys. As in YAML 1.2, the plain scalars true, false, null, ~ and numbers have
 * their own types; yes, on and 0755 are strings. */
#pragma once

#include "lib/error.h"

#include <stddef.h>

struct json_value;

enum { YAML_DEPTH_MAX = 32, YAML_NODES_MAX = 100000 };

/* An empty document gives null, so *out is never NULL on success. The caller
 * frees it with json_value_free().
 * -EBADMSG: the sentence names the line; -E2BIG: above a limit. */
must_check int yaml_parse(struct json_value **out, const char *text, size_t len,
	struct error *err);

/* The version of libyaml that the program runs with. */
const char *yaml_library_version(void);
