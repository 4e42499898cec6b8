#include "scheduler/mover/foreign_room.h"

#include "scheduler/cache/reservations.h"
#include "scheduler/kubevirt/migration.h"
#include "scheduler/mover/target_room.h"

#include <string.h>

void foreign_room_keep(struct reservations *reservations,
	const struct migration *migration, const struct vmi *vmi,
	int64_t now_us)
{
	struct target_room room;

	if (vmi == NULL || *migration->hostname == '\0' ||
		migration->phase > MIGRATION_SCHEDULING ||
		strcmp(migration->target, vmi->node) == 0 ||
		cache_node(reservations->cache, migration->target) == NULL) {
		return;
	}
	room = (struct target_room){ vmi->namespace, vmi->uid,
		migration->target };
	(void)target_room_keep(reservations, &room, migration, now_us);
}
