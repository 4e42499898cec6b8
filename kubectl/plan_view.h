/* Plans of the leading scheduler: asked for with a POST, and shown. */
#pragma once

#include "lib/error.h"

#include <stddef.h>

struct buffer;
struct api_client;
struct json_value;

enum { PLAN_NODES_MAX = 64 };

/* Asks about nodes, for the goal "Evacuate" or "NodesGone". The caller frees
 * *out. */
must_check int plan_ask_nodes(struct json_value **out,
	struct api_client *client, const char *goal, const char *nodes,
	struct error *err);

/* Asks how a VM of the namespace could move. */
must_check int plan_ask_move(struct json_value **out, struct api_client *client,
	const char *vm, struct error *err);

/* Splits "a,b" and checks each name. The caller frees *copy, into which names
 * point. -EINVAL: no list of names. */
must_check int plan_read_nodes(char **copy, const char *names[PLAN_NODES_MAX],
	size_t *count, const char *text, struct error *err);

/* Each appends one part of a plan, with a line before it, or nothing if that
 * part is empty. */
void plan_put_steps(struct buffer *out, const struct json_value *plan,
	const char *title);
void plan_put_stuck(struct buffer *out, const struct json_value *plan);
void plan_put_lost(struct buffer *out, const struct json_value *plan);
void plan_put_nodes(struct buffer *out, const struct json_value *plan);

/* The scheduler's sentence, and what it leaves out. */
void plan_put_sentence(struct buffer *out, const struct json_value *plan);
void plan_put_hidden(struct buffer *out, const struct json_value *plan);
