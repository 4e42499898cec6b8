/* Memory of one tree of JSON values. Private to kube/json_*.c and kube/yaml.c.
 *
 * A tree is read whole and freed whole, so its pieces are never freed one by
 * one: nearly all trees are a single block. */
#pragma once

#include <stddef.h>

struct json_memory;

/* bytes: expected; more is taken if that is not enough. Never NULL. */
struct json_memory *json_memory_new(size_t bytes);

/* A piece, not initialised, aligned for every type. It lives as long as the
 * memory. */
void *json_memory_take(struct json_memory *memory, size_t size);

/* The memory that a piece comes from, if the piece was the first. */
struct json_memory *json_memory_of_first(void *piece);

/* Overwrites all pieces. */
void json_memory_overwrite(struct json_memory *memory);

void json_memory_free(struct json_memory *memory); /* NULL is fine */
