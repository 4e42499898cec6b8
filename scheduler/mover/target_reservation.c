#include "scheduler/mover/target_reservation.h"

#include "scheduler/cache/reservations.h"
#include "scheduler/kubevirt/migration.h"

#include <string.h>

static bool is_target_of(const struct pod *pod,
	const struct target_reservation *room)
{
	return pod != NULL && pod->is_target && pod->original == NULL &&
		strcmp(pod->vmi_uid, room->vmi_uid) == 0 &&
		strcmp(pod->namespace, room->namespace) == 0;
}

static bool has_target_pod(const struct cache *cache,
	const struct target_reservation *room)
{
	const struct node *node = cache_node(cache, room->node);

	for (size_t i = 0; node != NULL && i < node->vms.count; i++) {
		if (is_target_of(cache_pod(cache, node->vms.list[i].uid),
			    room)) {
			return true;
		}
	}
	return false;
}

static void reserve_again(struct reservations *reservations,
	const struct target_reservation *room, int64_t now_us)
{
	const struct pod target = { .namespace = room->namespace,
		.vmi_uid = room->vmi_uid };
	const struct pod *source =
		cache_migration_source(reservations->cache, &target);

	if (source != NULL) {
		(void)reservations_order(reservations, source->uid, room->node,
			now_us);
	}
}

bool target_reservation_keep(struct reservations *reservations,
	const struct target_reservation *room,
	const struct migration *migration, int64_t now_us)
{
	if (has_target_pod(reservations->cache, room)) {
		return true;
	}
	if (!reservations_renew(reservations, room->namespace, room->vmi_uid,
		    now_us) &&
		migration != NULL && migration->phase <= MIGRATION_SCHEDULING) {
		reserve_again(reservations, room, now_us);
	}
	return false;
}
