#include "kube/object_set.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

struct known_object {
	uint64_t round; /* in which it was seen last */
	char uid[];
};

static struct known_object *object_new(uint64_t round, const char *uid)
{
	size_t size = strlen(uid) + 1;
	struct known_object *object = xcalloc(1, sizeof(*object) + size);

	object->round = round;
	memcpy(object->uid, uid, size);
	return object;
}

void known_fini(struct known *known)
{
	const char *key;
	void *object;
	size_t at = 0;

	while (map_next(&known->objects, &at, &key, &object)) {
		free(object);
	}
	map_fini(&known->objects);
	*known = (struct known){ 0 };
}

void known_begin(struct known *known)
{
	known->round++;
}

char *known_note(struct known *known, const char *key, const char *uid)
{
	struct known_object *old = map_get(&known->objects, key);
	char *other = NULL;

	if (old != NULL && strcmp(old->uid, uid) == 0) {
		old->round = known->round;
		return NULL;
	}
	if (old != NULL) {
		other = xstrdup(old->uid);
		free(old);
	}
	(void)map_put(&known->objects, key, object_new(known->round, uid));
	return other;
}

bool known_drop(struct known *known, const char *key)
{
	void *object = map_remove(&known->objects, key);

	free(object);
	return object != NULL;
}

/* The memory leaves known first, because gone may free it. */
static bool forget(struct known *known, const char *key, known_gone gone,
	void *owner)
{
	scoped_free char *name = xstrdup(key);
	scoped_free struct known_object *object =
		map_remove(&known->objects, name);

	return gone(owner, name, object->uid);
}

void known_sweep(struct known *known, known_gone gone, void *owner)
{
	const char *key;
	void *entry;
	size_t at = 0;

	while (map_next(&known->objects, &at, &key, &entry)) {
		const struct known_object *object = entry;

		if (object->round != known->round &&
			!forget(known, key, gone, owner)) {
			return;
		}
	}
}

size_t known_count(const struct known *known)
{
	return known->objects.count;
}
