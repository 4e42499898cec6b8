#include "scheduler/mover/conflicts.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

void conflicts_fini(struct conflicts *conflicts)
{
	size_t at = 0;
	void *value;

	while (map_next(&conflicts->until, &at, NULL, &value)) {
		free(value);
	}
	map_fini(&conflicts->until);
}

uint64_t conflicts_until(const struct conflicts *conflicts,
	const char *namespace, const char *vm, uint64_t now_us)
{
	scoped_free char *key = NULL;
	const uint64_t *until;

	if (conflicts->until.count == 0) {
		return 0;
	}
	key = xasprintf("%s/%s", namespace, vm);
	until = map_get(&conflicts->until, key);
	return until != NULL && *until > now_us ? *until : 0;
}

bool conflicts_observe(struct conflicts *conflicts,
	const struct move_record *last, const char *source, uint64_t now_us)
{
	scoped_free char *key = NULL;
	uint64_t until = now_us + CONFLICTS_ALONE_US;

	if (last == NULL || strcmp(last->target, source) != 0 ||
		last->ended_us + CONFLICTS_SOON_US < now_us ||
		conflicts_until(conflicts, last->namespace, last->vm, now_us) !=
			0 ||
		conflicts_count(conflicts, now_us) >= CONFLICTS_MAX) {
		return false;
	}
	key = xasprintf("%s/%s", last->namespace, last->vm);
	free(map_put(&conflicts->until, key, xmemdup(&until, sizeof(until))));
	return true;
}

size_t conflicts_count(struct conflicts *conflicts, uint64_t now_us)
{
	size_t at = 0;
	const char *key;
	void *value;

	while (map_next(&conflicts->until, &at, &key, &value)) {
		if (*(const uint64_t *)value <= now_us) {
			free(map_remove(&conflicts->until, key));
		}
	}
	return conflicts->until.count;
}
