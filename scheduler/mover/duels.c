#include "scheduler/mover/duels.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

void duels_fini(struct duels *duels)
{
	size_t at = 0;
	void *value;

	while (map_next(&duels->until, &at, NULL, &value)) {
		free(value);
	}
	map_fini(&duels->until);
}

uint64_t duels_until(const struct duels *duels, const char *namespace,
	const char *vm, uint64_t now_us)
{
	scoped_free char *key = NULL;
	const uint64_t *until;

	if (duels->until.count == 0) {
		return 0;
	}
	key = xasprintf("%s/%s", namespace, vm);
	until = map_get(&duels->until, key);
	return until != NULL && *until > now_us ? *until : 0;
}

bool duels_observe(struct duels *duels, const struct move_record *last,
	const char *source, uint64_t now_us)
{
	scoped_free char *key = NULL;
	uint64_t until = now_us + DUELS_ASIDE_US;

	if (last == NULL || strcmp(last->target, source) != 0 ||
		last->ended_us + DUELS_SOON_US < now_us ||
		duels_until(duels, last->namespace, last->vm, now_us) != 0 ||
		duels_count(duels, now_us) >= DUELS_MAX) {
		return false;
	}
	key = xasprintf("%s/%s", last->namespace, last->vm);
	free(map_put(&duels->until, key, xmemdup(&until, sizeof(until))));
	return true;
}

size_t duels_count(struct duels *duels, uint64_t now_us)
{
	size_t at = 0;
	const char *key;
	void *value;

	while (map_next(&duels->until, &at, &key, &value)) {
		if (*(const uint64_t *)value <= now_us) {
			free(map_remove(&duels->until, key));
		}
	}
	return duels->until.count;
}
