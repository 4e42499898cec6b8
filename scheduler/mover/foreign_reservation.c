#include "scheduler/mover/foreign_reservation.h"

#include "scheduler/cache/reservations.h"
#include "scheduler/kubevirt/migration.h"
#include "scheduler/mover/target_reservation.h"

#include <string.h>

void foreign_reservation_keep(struct reservations *reservations,
	const struct migration *migration, const struct vmi *vmi,
	int64_t now_us)
{
	struct target_reservation room;

	if (vmi == NULL || *migration->hostname == '\0' ||
		migration->phase > MIGRATION_SCHEDULING ||
		strcmp(migration->target, vmi->node) == 0 ||
		cache_node(reservations->cache, migration->target) == NULL) {
		return;
	}
	room = (struct target_reservation){ vmi->namespace, vmi->uid,
		migration->target };
	(void)target_reservation_keep(reservations, &room, migration, now_us);
}
