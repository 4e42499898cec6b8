/* Memory for a tree that is read whole and freed whole, so that its pieces are
 * never freed one by one: nearly always it is a single block. */
#pragma once

#include <stddef.h>

struct arena;

/* bytes: expected; more is taken if that is not enough. Never NULL. */
struct arena *arena_new(size_t bytes);

/* A piece, not initialised, aligned for every type. It lives as long as the
 * arena. */
void *arena_take(struct arena *arena, size_t size);

/* The arena that a piece comes from, if the piece was the first. */
struct arena *arena_of_first(void *piece);

/* Overwrites all pieces. */
void arena_overwrite(struct arena *arena);

void arena_free(struct arena *arena); /* NULL is fine */
