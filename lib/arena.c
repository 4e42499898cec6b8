#include "lib/arena.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = _Alignof(max_align_t) };

struct arena {
	struct arena *more; /* a larger block, where this one was full */
	size_t used, size;  /* bytes of data */
	max_align_t data[];
};

struct arena *arena_new(size_t bytes)
{
	struct arena *arena = xrealloc(NULL, 1, sizeof(*arena) + bytes);

	*arena = (struct arena){ .size = bytes };
	return arena;
}

/* Only the first block is handed out, so the newest of the others comes right
 * behind it. Each is twice as large as the one before. */
static struct arena *block_with(struct arena *arena, size_t size)
{
	struct arena *newest = arena->more == NULL ? arena : arena->more;
	struct arena *block;

	if (newest->size - newest->used >= size) {
		return newest;
	}
	block = arena_new(2 * newest->size + size);
	block->more = arena->more;
	arena->more = block;
	return block;
}

void *arena_take(struct arena *arena, size_t size)
{
	size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	struct arena *block = block_with(arena, rounded);
	char *piece = (char *)block->data + block->used;

	block->used += rounded;
	return piece;
}

struct arena *arena_of_first(void *piece)
{
	return (struct arena *)(void *)((char *)piece -
		offsetof(struct arena, data));
}

void arena_overwrite(struct arena *arena)
{
	for (; arena != NULL; arena = arena->more) {
		explicit_bzero(arena->data, arena->used);
	}
}

void arena_free(struct arena *arena)
{
	while (arena != NULL) {
		struct arena *more = arena->more;

		free(arena);
		arena = more;
	}
}
