#include "scheduler/mover/adoption.h"

#include "scheduler/cache/cache.h"
#include "scheduler/mover/flights.h"
#include "scheduler/mover/move_words.h"

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

static void adopt(const struct adoption *adoption,
	const struct migration *migration, struct moment now)
{
	struct journal *journal = adoption->journal;
	struct move_record *record =
		move_book_find(&journal->book, migration->move_id);
	const struct vmi *vmi = kubevirt_vmi_named(adoption->kubevirt,
		migration->namespace, migration->vmi_name);
	struct move_record fresh;

	if (record != NULL && is_unordered(record, migration)) {
		record->ordered_us = (uint64_t)migration->created_wall_us;
		record->is_automatic = true;
		journal_enter(journal, record, MOVE_ORDERED, now);
	} else if (record == NULL && vmi != NULL &&
		make_record(&fresh, migration, vmi, adoption->cache)) {
		journal_enter(journal, move_book_put(&journal->book, &fresh),
			MOVE_ORDERED, now);
	}
}

/* Its order was given up, and went through after all. */
static bool is_stray(const struct adoption *adoption,
	const struct migration *migration)
{
	const struct move_record *record =
		move_book_find(&adoption->journal->book, migration->move_id);

	return record != NULL && !move_is_open(record) &&
		move_is_of(record, migration) && !migration->is_deleting;
}

void adoption_tick(struct adoption *adoption, struct moment now)
{
	const struct migration *migration;
	bool may_cancel = now.now_us - adoption->cancel_us >= FLIGHTS_CANCEL_US;
	size_t at = 0;

	while ((migration = kubevirt_next_migration(adoption->kubevirt, &at)) !=
		NULL) {
		if (!migration->is_ours || migration_is_finished(migration)) {
			continue;
		}
		adopt(adoption, migration, now);
		if (may_cancel && is_stray(adoption, migration)) {
			adoption->cancel_us = now.now_us;
			kubevirt_cancel(adoption->kubevirt, migration->move_id);
		}
	}
}
