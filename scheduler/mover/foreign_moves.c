#include "scheduler/mover/foreign_moves.h"

#include "scheduler/cache/cache.h"
#include "scheduler/mover/warnings.h"

#include <string.h>

/* Until the handoff only the VMI knows the source. */
static const char *source_of(const struct migration *migration,
	const struct vmi *vmi)
{
	return *migration->source == '\0' && vmi != NULL &&
			!migration_is_finished(migration)
		? vmi->node
		: migration->source;
}

/* An update of KubeVirt and a drain take VMs away from everybody. An eviction
 * from a node that is not cordoned is somebody's choice. */
static bool is_choice(const struct foreign_moves *foreign,
	const struct migration *migration, const char *source)
{
	const struct node *node = cache_node(foreign->cache, source);

	return !migration->is_update &&
		!(migration->is_evacuation && node != NULL &&
			node->is_unschedulable);
}

void foreign_moves_observe(struct foreign_moves *foreign,
	const struct migration *migration, const struct vmi *vmi,
	struct moment now)
{
	const char *source = source_of(migration, vmi);
	const struct move_record *last =
		move_records_last_move(&foreign->recorder->records,
			migration->namespace, migration->vmi_name);

	/* Finished migrations are told again after a restart. */
	if (last == NULL ||
		(uint64_t)migration->created_wall_us < last->ordered_us) {
		return;
	}
	if (is_choice(foreign, migration, source) &&
		conflicts_observe(foreign->conflicts, last, source,
			now.wall_us)) {
		warnings_conflict(foreign->recorder->events, migration, source,
			last, now.now_us);
	}
}

void foreign_moves_restore(struct foreign_moves *foreign, struct moment now)
{
	const struct move_record *record;
	size_t at = 0;

	while ((record = move_records_next(&foreign->recorder->records, &at)) !=
		NULL) {
		const struct vmi *vmi =
			kubevirt_vmi(foreign->kubevirt, record->vmi_uid);

		if (vmi != NULL && vmi->is_running && !vmi->is_migrating &&
			strcmp(vmi->node, record->target) != 0 &&
			record ==
				move_records_last_move(
					&foreign->recorder->records,
					record->namespace, record->vm)) {
			(void)conflicts_observe(foreign->conflicts, record,
				record->target, now.wall_us);
		}
	}
}
