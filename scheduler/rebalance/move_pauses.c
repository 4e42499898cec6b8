#include "scheduler/rebalance/move_pauses.h"

#include "lib/memory.h"

#include <stdlib.h>

/* The moves of a namespace, or of all, since the last one that succeeded. */
struct row {
	struct move_pause pause;
	uint64_t succeeded_us, failed_us; /* the last; 0: none */
};

static struct row *row_of(struct move_pauses *pauses, const char *namespace)
{
	struct row *row = map_get(&pauses->by_namespace, namespace);

	if (row == NULL) {
		row = xcalloc(1, sizeof(*row));
		(void)map_put(&pauses->by_namespace, namespace, row);
	}
	return row;
}

static void later(uint64_t *us, uint64_t other_us)
{
	*us = other_us > *us ? other_us : *us;
}

static void add_successes(struct move_pauses *pauses, struct row *all,
	const struct move_records *records)
{
	const struct move_record *record;
	size_t at = 0;

	while ((record = move_records_next(records, &at)) != NULL) {
		if (record->state == MOVE_SUCCEEDED) {
			later(&row_of(pauses, record->namespace)->succeeded_us,
				record->ended_us);
			later(&all->succeeded_us, record->ended_us);
		}
	}
}

static void add_failure(struct row *row, uint64_t ended_us)
{
	if (ended_us > row->succeeded_us) {
		row->pause.failures++;
		later(&row->failed_us, ended_us);
	}
}

static void add_failures(struct move_pauses *pauses, struct row *all,
	const struct move_records *records)
{
	const struct move_record *record;
	size_t at = 0;

	while ((record = move_records_next(records, &at)) != NULL) {
		if (record->state == MOVE_FAILED) {
			add_failure(row_of(pauses, record->namespace),
				record->ended_us);
			add_failure(all, record->ended_us);
		}
	}
}

void move_pauses_init(struct move_pauses *pauses,
	const struct move_records *records)
{
	struct row all = { 0 };
	unsigned namespaces = 0;
	size_t at = 0;
	void *value;

	*pauses = (struct move_pauses){ 0 };
	add_successes(pauses, &all, records);
	add_failures(pauses, &all, records);
	while (map_next(&pauses->by_namespace, &at, NULL, &value)) {
		struct row *row = value;

		if (row->pause.failures >= MOVE_PAUSES_FAILURES) {
			row->pause.until_us = row->failed_us + MOVE_PAUSES_US;
		}
		namespaces += row->failed_us > all.succeeded_us;
	}
	pauses->all = all.pause;
	if (namespaces >= MOVE_PAUSES_NAMESPACES) {
		pauses->all.until_us = all.failed_us + MOVE_PAUSES_US;
	}
}

void move_pauses_fini(struct move_pauses *pauses)
{
	size_t at = 0;
	void *value;

	while (map_next(&pauses->by_namespace, &at, NULL, &value)) {
		free(value);
	}
	map_fini(&pauses->by_namespace);
	*pauses = (struct move_pauses){ 0 };
}

struct move_pause move_pauses_of(const struct move_pauses *pauses,
	const char *namespace)
{
	static const struct move_pause none;
	const struct row *row = map_get(&pauses->by_namespace, namespace);

	return row == NULL ? none : row->pause;
}

const char *move_pauses_next(const struct move_pauses *pauses, size_t *at,
	uint64_t now_us, struct move_pause *out)
{
	const char *namespace;
	void *value;

	while (map_next(&pauses->by_namespace, at, &namespace, &value)) {
		const struct row *row = value;

		if (row->pause.until_us > now_us) {
			*out = row->pause;
			return namespace;
		}
	}
	return NULL;
}
