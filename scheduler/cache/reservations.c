#include "scheduler/cache/reservations.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

struct reservation {
	char *uid;	       /* of the temporary pod */
	struct pod *suspended; /* owned; NULL while the cache has it */
	int64_t bound_us, until_us;
};

static void reservation_free(struct reservation *reservation)
{
	if (reservation != NULL) {
		pod_free(reservation->suspended);
		free(reservation->uid);
		free(reservation);
	}
}

void reservations_init(struct reservations *reservations, struct cache *cache)
{
	*reservations = (struct reservations){ .cache = cache };
}

void reservations_fini(struct reservations *reservations)
{
	size_t at = 0;
	void *value;

	while (map_next(&reservations->by_vmi, &at, NULL, &value)) {
		reservation_free(value);
	}
	map_fini(&reservations->by_vmi);
}

bool reservations_hold(struct reservations *reservations, const char *uid,
	int64_t now_us)
{
	const struct pod *pod = cache_pod(reservations->cache, uid);
	struct reservation *held;

	if (pod == NULL || !pod->is_provisional || *pod->vmi_uid == '\0' ||
		*pod->node_name == '\0') {
		return false;
	}
	held = map_get(&reservations->by_vmi, pod->vmi_uid);
	if (held == NULL) {
		held = xcalloc(1, sizeof(*held));
		held->uid = xstrdup(uid);
		held->until_us = now_us + RESERVATIONS_HOLD_US;
		(void)map_put(&reservations->by_vmi, pod->vmi_uid, held);
	}
	return strcmp(held->uid, uid) == 0;
}

void reservations_suspend(struct reservations *reservations,
	const struct pod *pod)
{
	struct reservation *held = map_get(&reservations->by_vmi, pod->vmi_uid);

	if (held != NULL && held->suspended == NULL) {
		held->suspended = cache_take_pod(reservations->cache, held->uid,
			&held->bound_us);
	}
}

void reservations_resume(struct reservations *reservations,
	const struct pod *pod)
{
	struct reservation *held = map_get(&reservations->by_vmi, pod->vmi_uid);

	if (held != NULL && held->suspended != NULL) {
		cache_put_pod(reservations->cache, take_ptr(held->suspended),
			held->bound_us);
	}
}

void reservations_settle(struct reservations *reservations,
	const struct pod *pod)
{
	const struct reservation *held =
		map_get(&reservations->by_vmi, pod->vmi_uid);

	if (held != NULL && strcmp(held->uid, pod->uid) != 0) {
		(void)cache_remove_pod(reservations->cache, held->uid);
		reservation_free(
			map_remove(&reservations->by_vmi, pod->vmi_uid));
	}
}

bool reservations_drop(struct reservations *reservations, const char *vmi_uid,
	const char *uid)
{
	const struct reservation *held =
		map_get(&reservations->by_vmi, vmi_uid);

	if (held != NULL && strcmp(held->uid, uid) == 0) {
		reservation_free(map_remove(&reservations->by_vmi, vmi_uid));
	}
	return cache_remove_pod(reservations->cache, uid);
}

bool reservations_expire(struct reservations *reservations, int64_t now_us)
{
	bool was_any = false;
	const char *vmi;
	size_t at = 0;
	void *value;

	while (map_next(&reservations->by_vmi, &at, &vmi, &value)) {
		struct reservation *held = value;

		if (held->until_us <= now_us) {
			(void)cache_remove_pod(reservations->cache, held->uid);
			reservation_free(
				map_remove(&reservations->by_vmi, vmi));
			was_any = true;
		}
	}
	return was_any;
}
