#include "scheduler/objects/interner.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/map.h"
#include "lib/memory.h"

struct name {
	uint32_t number;
	uint32_t holders;
	char text[];
};

struct names {
	struct map by_text;
	struct name **list; /* by number; NULL where it is free */
	size_t count, capacity;
	uint32_t *unused; /* numbers below count that are free */
	size_t unused_count, unused_capacity;
};

struct names *names_new(void)
{
	struct names *names = xcalloc(1, sizeof(*names));

	/* Number 0 is nobody's. */
	names->list =
		xgrow(names->list, 0, &names->capacity, sizeof(struct name *));
	names->list[0] = NULL;
	names->count = 1;
	return names;
}

void names_free(struct names *names)
{
	if (names == NULL) {
		return;
	}
	for (size_t i = 0; i < names->count; i++) {
		free(names->list[i]);
	}
	free(names->list);
	free(names->unused);
	map_fini(&names->by_text);
	free(names);
}

static uint32_t take_number(struct names *names)
{
	if (names->unused_count > 0) {
		return names->unused[--names->unused_count];
	}
	assert(names->count < UINT32_MAX);
	names->list = xgrow(names->list, names->count, &names->capacity,
		sizeof(struct name *));
	return (uint32_t)names->count++;
}

uint32_t names_hold(struct names *names, const char *text)
{
	struct name *name = map_get(&names->by_text, text);
	size_t size = strlen(text) + 1;

	if (name == NULL) {
		name = xcalloc(1, sizeof(*name) + size);
		memcpy(name->text, text, size);
		name->number = take_number(names);
		names->list[name->number] = name;
		(void)map_put(&names->by_text, text, name);
	}
	assert(name->holders < UINT32_MAX);
	name->holders++;
	return name->number;
}

static struct name *held(const struct names *names, uint32_t number)
{
	assert(number > 0 && number < names->count);
	assert(names->list[number] != NULL);
	return names->list[number];
}

void names_drop(struct names *names, uint32_t name)
{
	struct name *dropped;

	if (name == 0) {
		return;
	}
	dropped = held(names, name);
	if (--dropped->holders > 0) {
		return;
	}
	(void)map_remove(&names->by_text, dropped->text);
	names->list[name] = NULL;
	free(dropped);
	names->unused = xgrow(names->unused, names->unused_count,
		&names->unused_capacity, sizeof(*names->unused));
	names->unused[names->unused_count++] = name;
}

const char *names_text(const struct names *names, uint32_t name)
{
	return held(names, name)->text;
}
