#include "kube/json_memory.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = _Alignof(max_align_t) };

struct json_memory {
	struct json_memory *more; /* a larger block, where this one was full */
	size_t used, size;	  /* bytes of data */
	max_align_t data[];
};

struct json_memory *json_memory_new(size_t bytes)
{
	struct json_memory *memory = xrealloc(NULL, 1, sizeof(*memory) + bytes);

	*memory = (struct json_memory){ .size = bytes };
	return memory;
}

/* Only the first block is handed out, so the newest of the others comes right
 * behind it. Each is twice as large as the one before. */
static struct json_memory *block_with(struct json_memory *memory, size_t size)
{
	struct json_memory *newest =
		memory->more == NULL ? memory : memory->more;
	struct json_memory *block;

	if (newest->size - newest->used >= size) {
		return newest;
	}
	block = json_memory_new(2 * newest->size + size);
	block->more = memory->more;
	memory->more = block;
	return block;
}

void *json_memory_take(struct json_memory *memory, size_t size)
{
	size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	struct json_memory *block = block_with(memory, rounded);
	char *piece = (char *)block->data + block->used;

	block->used += rounded;
	return piece;
}

struct json_memory *json_memory_of_first(void *piece)
{
	return (struct json_memory *)(void *)((char *)piece -
		offsetof(struct json_memory, data));
}

void json_memory_overwrite(struct json_memory *memory)
{
	for (; memory != NULL; memory = memory->more) {
		explicit_bzero(memory->data, memory->used);
	}
}

void json_memory_free(struct json_memory *memory)
{
	while (memory != NULL) {
		struct json_memory *more = memory->more;

		free(memory);
		memory = more;
	}
}
