#include "kube/object_set.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

struct set_entry {
	uint64_t round; /* of the last object_set_add() */
	char uid[];
};

static struct set_entry *object_new(uint64_t round, const char *uid)
{
	size_t size = strlen(uid) + 1;
	struct set_entry *object = xcalloc(1, sizeof(*object) + size);

	object->round = round;
	memcpy(object->uid, uid, size);
	return object;
}

void object_set_fini(struct object_set *set)
{
	const char *key;
	void *object;
	size_t at = 0;

	while (map_next(&set->objects, &at, &key, &object)) {
		free(object);
	}
	map_fini(&set->objects);
	*set = (struct object_set){ 0 };
}

void object_set_begin(struct object_set *set)
{
	set->round++;
}

char *object_set_add(struct object_set *set, const char *key, const char *uid)
{
	struct set_entry *old = map_get(&set->objects, key);
	char *other = NULL;

	if (old != NULL && strcmp(old->uid, uid) == 0) {
		old->round = set->round;
		return NULL;
	}
	if (old != NULL) {
		other = xstrdup(old->uid);
		free(old);
	}
	(void)map_put(&set->objects, key, object_new(set->round, uid));
	return other;
}

bool object_set_remove(struct object_set *set, const char *key)
{
	void *object = map_remove(&set->objects, key);

	free(object);
	return object != NULL;
}

/* Take the entry out first, because the callback may free the set. */
static bool remove_and_report(struct object_set *set, const char *key,
	object_set_gone gone, void *owner)
{
	scoped_free char *name = xstrdup(key);
	scoped_free struct set_entry *object = map_remove(&set->objects, name);

	return gone(owner, name, object->uid);
}

void object_set_sweep(struct object_set *set, object_set_gone gone, void *owner)
{
	const char *key;
	void *entry;
	size_t at = 0;

	while (map_next(&set->objects, &at, &key, &entry)) {
		const struct set_entry *object = entry;

		if (object->round != set->round &&
			!remove_and_report(set, key, gone, owner)) {
			return;
		}
	}
}
