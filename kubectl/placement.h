/* Placements of the leading scheduler: asked for with a POST, and shown. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>

struct buffer;
struct api_client;
struct json_value;

/* Where something would be placed now; key is "vmName" or "podName". The caller
 * frees *out. */
must_check int placement_ask_name(struct json_value **out,
	struct api_client *client, const char *key, const char *name,
	struct error *err);
must_check int placement_ask_object(struct json_value **out,
	struct api_client *client, const struct json_value *object,
	struct error *err);

/* Appends the answer: the chosen node, and a table of all nodes. */
void placement_put(struct buffer *out, const struct json_value *placement,
	bool is_wide);

/* The node of the answer with this name, or NULL. */
const struct json_value *placement_node(const struct json_value *placement,
	const char *name);

/* How many nodes of a large cluster the answer leaves out. */
double placement_left_out(const struct json_value *placement);

/* Appends why a node is not feasible, one reason behind the other. */
void placement_put_reasons(struct buffer *out, const struct json_value *node);
