#include "scheduler/mover/takeover.h"

#include "scheduler/cache/cache.h"
#include "scheduler/mover/move_words.h"
#include "scheduler/mover/open_moves.h"

#include <stdio.h>
#include <string.h>

bool move_is_of(const struct move_record *record,
	const struct migration *migration)
{
	return strcmp(record->id, migration->move_id) == 0 &&
		strcmp(record->namespace, migration->namespace) == 0 &&
		strcmp(record->vm, migration->vmi_name) == 0;
}

static bool set_text(char *out, size_t size, const char *text)
{
	int length = snprintf(out, size, "%s", text);

	return length > 0 && (size_t)length < size;
}

/* False: the migration is no order of the mover. */
static bool make_record(struct move_record *out,
	const struct migration *migration, const struct vmi *vmi,
	const struct cache *cache)
{
	const struct node *target =
		cluster_node_of_host(&cache->cluster, migration->hostname);

	move_words_init(out);
	out->revision = 1;
	out->is_automatic = true;
	out->wall_us = (uint64_t)migration->created_wall_us;
	out->ordered_us = out->wall_us;
	(void)snprintf(out->sentence, sizeof(out->sentence),
		"ordered by an earlier leader, whose reasons are not known");
	return set_text(out->id, sizeof(out->id), migration->move_id) &&
		set_text(out->namespace, sizeof(out->namespace),
			migration->namespace) &&
		set_text(out->vm, sizeof(out->vm), migration->vmi_name) &&
		set_text(out->vmi_uid, sizeof(out->vmi_uid), vmi->uid) &&
		set_text(out->source, sizeof(out->source), vmi->node) &&
		set_text(out->target, sizeof(out->target),
			target == NULL ? "" : target->name) &&
		set_text(out->migration, sizeof(out->migration),
			migration->name);
}

/* A recommendation of which it is not known that it was ordered. */
static bool is_unordered(const struct move_record *record,
	const struct migration *migration)
{
	return !move_is_open(record) && record->ordered_us == 0 &&
		move_is_of(record, migration);
}

static void take_over(const struct takeover *takeover,
	const struct migration *migration, struct moment now)
{
	struct recorder *recorder = takeover->recorder;
	struct move_record *record =
		move_records_find(&recorder->records, migration->move_id);
	const struct vmi *vmi = kubevirt_vmi_named(takeover->kubevirt,
		migration->namespace, migration->vmi_name);
	struct move_record fresh;

	if (record != NULL && is_unordered(record, migration)) {
		record->ordered_us = (uint64_t)migration->created_wall_us;
		record->is_automatic = true;
		recorder_enter(recorder, record, MOVE_ORDERED, now);
	} else if (record == NULL && vmi != NULL &&
		make_record(&fresh, migration, vmi, takeover->cache)) {
		recorder_enter(recorder,
			move_records_put(&recorder->records, &fresh),
			MOVE_ORDERED, now);
	}
}

/* Its order was given up, and went through after all. */
static bool is_stray(const struct takeover *takeover,
	const struct migration *migration)
{
	const struct move_record *record = move_records_find(
		&takeover->recorder->records, migration->move_id);

	return record != NULL && !move_is_open(record) &&
		move_is_of(record, migration) && !migration->is_deleting;
}

void takeover_tick(struct takeover *takeover, struct moment now)
{
	const struct migration *migration;
	bool may_cancel =
		now.now_us - takeover->cancel_us >= OPEN_MOVES_CANCEL_US;
	size_t at = 0;

	while ((migration = kubevirt_next_migration(takeover->kubevirt, &at)) !=
		NULL) {
		if (!migration->is_ours || migration_is_finished(migration)) {
			continue;
		}
		take_over(takeover, migration, now);
		if (may_cancel && is_stray(takeover, migration)) {
			takeover->cancel_us = now.now_us;
			kubevirt_cancel(takeover->kubevirt, migration->move_id);
		}
	}
}
