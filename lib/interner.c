#include "lib/interner.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "lib/map.h"
#include "lib/memory.h"

struct entry {
	uint32_t id;
	uint32_t holders;
	char text[];
};

struct interner {
	struct map by_text;
	struct entry **list; /* by id; NULL: the id is free */
	size_t count, capacity;
	uint32_t *free_ids; /* below count */
	size_t free_count, free_capacity;
	uv_mutex_t *mutex; /* owned; of all this; the texts never change */
};

struct interner *interner_new(void)
{
	struct interner *interner = xcalloc(1, sizeof(*interner));

	interner->mutex = xcalloc(1, sizeof(*interner->mutex));
	if (uv_mutex_init(interner->mutex) != 0) {
		abort();
	}
	/* 0 is no id. */
	interner->list = xgrow(interner->list, 0, &interner->capacity,
		sizeof(struct entry *));
	interner->list[0] = NULL;
	interner->count = 1;
	return interner;
}

void interner_free(struct interner *interner)
{
	if (interner == NULL) {
		return;
	}
	free(interner->list);
	free(interner->free_ids);
	map_fini(&interner->by_text);
	uv_mutex_destroy(interner->mutex);
	free(interner->mutex);
	free(interner);
}

static uint32_t new_id(struct interner *interner)
{
	if (interner->free_count > 0) {
		return interner->free_ids[--interner->free_count];
	}
	assert(interner->count < UINT32_MAX);
	interner->list = xgrow(interner->list, interner->count,
		&interner->capacity, sizeof(struct entry *));
	return (uint32_t)interner->count++;
}

static struct entry *new_entry(struct interner *interner, const char *text)
{
	size_t size = strlen(text) + 1;
	struct entry *entry = xcalloc(1, sizeof(*entry) + size);

	memcpy(entry->text, text, size);
	entry->id = new_id(interner);
	interner->list[entry->id] = entry;
	(void)map_put(&interner->by_text, text, entry);
	return entry;
}

static uint32_t hold(struct entry *entry)
{
	assert(entry->holders < UINT32_MAX);
	entry->holders++;
	return entry->id;
}

uint32_t interner_hold(struct interner *interner, const char *text)
{
	struct entry *entry;
	uint32_t id;

	uv_mutex_lock(interner->mutex);
	entry = map_get(&interner->by_text, text);
	id = hold(entry != NULL ? entry : new_entry(interner, text));
	uv_mutex_unlock(interner->mutex);
	return id;
}

uint32_t interner_find(const struct interner *interner, const char *text)
{
	const struct entry *entry;
	uint32_t id;

	uv_mutex_lock(interner->mutex);
	entry = map_get(&interner->by_text, text);
	id = entry == NULL ? 0 : entry->id;
	uv_mutex_unlock(interner->mutex);
	return id;
}

static struct entry *entry_of(const struct interner *interner, uint32_t id)
{
	assert(id > 0 && id < interner->count);
	assert(interner->list[id] != NULL);
	return interner->list[id];
}

void interner_hold_id(struct interner *interner, uint32_t id)
{
	if (id == 0) {
		return;
	}
	uv_mutex_lock(interner->mutex);
	(void)hold(entry_of(interner, id));
	uv_mutex_unlock(interner->mutex);
}

static void drop(struct interner *interner, struct entry *dropped)
{
	uint32_t id = dropped->id;

	if (--dropped->holders > 0) {
		return;
	}
	(void)map_remove(&interner->by_text, dropped->text);
	interner->list[id] = NULL;
	free(dropped);
	interner->free_ids = xgrow(interner->free_ids, interner->free_count,
		&interner->free_capacity, sizeof(*interner->free_ids));
	interner->free_ids[interner->free_count++] = id;
}

void interner_drop(struct interner *interner, uint32_t id)
{
	if (id == 0) {
		return;
	}
	uv_mutex_lock(interner->mutex);
	drop(interner, entry_of(interner, id));
	uv_mutex_unlock(interner->mutex);
}

const char *interner_text(const struct interner *interner, uint32_t id)
{
	const char *text;

	uv_mutex_lock(interner->mutex);
	text = entry_of(interner, id)->text;
	uv_mutex_unlock(interner->mutex);
	return text;
}
