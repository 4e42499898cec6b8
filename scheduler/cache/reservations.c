#include "scheduler/cache/reservations.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

struct place {
	char *uid;	    /* of the temporary pod */
	struct pod *lifted; /* owned; NULL while the cache has it */
	int64_t bound_us, until_us;
};

static void place_free(struct place *place)
{
	if (place != NULL) {
		pod_free(place->lifted);
		free(place->uid);
		free(place);
	}
}

bool places_keep(struct cache *cache, const char *uid, int64_t now_us)
{
	const struct pod *pod = cache_pod(cache, uid);
	struct place *place;

	if (pod == NULL || !pod->is_provisional || *pod->vmi_uid == '\0' ||
		*pod->node_name == '\0') {
		return false;
	}
	place = map_get(&cache->places, pod->vmi_uid);
	if (place == NULL) {
		place = xcalloc(1, sizeof(*place));
		place->uid = xstrdup(uid);
		place->until_us = now_us + PLACES_KEEP_US;
		(void)map_put(&cache->places, pod->vmi_uid, place);
	}
	return strcmp(place->uid, uid) == 0;
}

void places_lift(struct cache *cache, const struct pod *pod)
{
	struct place *place = map_get(&cache->places, pod->vmi_uid);

	if (place != NULL && place->lifted == NULL) {
		place->lifted =
			cache_take_pod(cache, place->uid, &place->bound_us);
	}
}

void places_return(struct cache *cache, const struct pod *pod)
{
	struct place *place = map_get(&cache->places, pod->vmi_uid);

	if (place != NULL && place->lifted != NULL) {
		cache_put_pod(cache, take_ptr(place->lifted), place->bound_us);
	}
}

void places_settle(struct cache *cache, const struct pod *pod)
{
	const struct place *place = map_get(&cache->places, pod->vmi_uid);

	if (place != NULL && strcmp(place->uid, pod->uid) != 0) {
		(void)cache_remove_pod(cache, place->uid);
		place_free(map_remove(&cache->places, pod->vmi_uid));
	}
}

void places_forget(struct cache *cache, const char *vmi_uid, const char *uid)
{
	const struct place *place = map_get(&cache->places, vmi_uid);

	if (place != NULL && strcmp(place->uid, uid) == 0) {
		place_free(map_remove(&cache->places, vmi_uid));
	}
	(void)cache_remove_pod(cache, uid);
}

bool places_expire(struct cache *cache, int64_t now_us)
{
	bool was_any = false;
	const char *vmi;
	size_t at = 0;
	void *value;

	while (map_next(&cache->places, &at, &vmi, &value)) {
		struct place *place = value;

		if (place->until_us <= now_us) {
			(void)cache_remove_pod(cache, place->uid);
			place_free(map_remove(&cache->places, vmi));
			was_any = true;
		}
	}
	return was_any;
}

void places_fini(struct cache *cache)
{
	size_t at = 0;
	void *value;

	while (map_next(&cache->places, &at, NULL, &value)) {
		place_free(value);
	}
	map_fini(&cache->places);
}
