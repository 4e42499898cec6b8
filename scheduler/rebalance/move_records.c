#include "scheduler/rebalance/move_records.h"

#include "lib/memory.h"
#include "scheduler/cluster/vm_failures.h"
#include "scheduler/rebalance/rule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct records_entry {
	struct move_record record;
	struct records_entry *older; /* of the same VM */
};

static char *key_of(const char *namespace, const char *vm)
{
	return xasprintf("%s/%s", namespace, vm);
}

static struct records_entry *newest_of(const struct move_records *records,
	const char *namespace, const char *vm)
{
	scoped_free char *key = key_of(namespace, vm);

	return map_get(&records->by_vm, key);
}

/* ---- adding and forgetting ---- */

static void link_entry(struct move_records *records,
	struct records_entry *entry)
{
	const struct move_record *r = &entry->record;
	scoped_free char *key = key_of(r->namespace, r->vm);
	struct records_entry *newest = map_get(&records->by_vm, key);
	struct records_entry *at = newest;

	if (newest == NULL || newest->record.wall_us <= r->wall_us) {
		entry->older = newest;
		(void)map_put(&records->by_vm, key, entry);
		return;
	}
	while (at->older != NULL && at->older->record.wall_us > r->wall_us) {
		at = at->older;
	}
	entry->older = at->older;
	at->older = entry;
}

static void unlink_entry(struct move_records *records,
	struct records_entry *entry)
{
	const struct move_record *r = &entry->record;
	scoped_free char *key = key_of(r->namespace, r->vm);
	struct records_entry *at = map_get(&records->by_vm, key);

	if (at == entry && entry->older == NULL) {
		(void)map_remove(&records->by_vm, key);
	} else if (at == entry) {
		(void)map_put(&records->by_vm, key, entry->older);
	} else {
		while (at->older != entry) {
			at = at->older;
		}
		at->older = entry->older;
	}
}

static void forget(struct move_records *records, struct records_entry *entry)
{
	unlink_entry(records, entry);
	(void)map_remove(&records->by_id, entry->record.id);
	free(entry);
}

bool move_is_open(const struct move_record *record)
{
	return record->state == MOVE_ORDERED || record->state == MOVE_RUNNING;
}

/* Records that keep no VM and no target back are forgotten first. */
static int worth_of(const struct move_record *record)
{
	if (record->state == MOVE_WITHDRAWN && record->ordered_us == 0) {
		return 0;
	}
	return record->state == MOVE_RECOMMENDED ? 1 : 2;
}

static bool goes_before(const struct move_record *a,
	const struct move_record *b)
{
	return worth_of(a) != worth_of(b) ? worth_of(a) < worth_of(b)
					  : a->wall_us < b->wall_us;
}

static void forget_oldest(struct move_records *records)
{
	struct records_entry *oldest = NULL;
	size_t at = 0;
	void *value;

	while (map_next(&records->by_id, &at, NULL, &value)) {
		struct records_entry *entry = value;

		if (!move_is_open(&entry->record) &&
			(oldest == NULL ||
				goes_before(&entry->record, &oldest->record))) {
			oldest = entry;
		}
	}
	if (oldest != NULL) {
		forget(records, oldest);
	}
}

struct move_record *move_records_put(struct move_records *records,
	const struct move_record *record)
{
	struct records_entry *entry = map_get(&records->by_id, record->id);

	if (entry != NULL && entry->record.revision >= record->revision) {
		return &entry->record;
	}
	if (entry != NULL) {
		unlink_entry(records, entry);
	} else {
		if (records->by_id.count >= MOVE_RECORDS_MAX) {
			forget_oldest(records);
		}
		entry = xcalloc(1, sizeof(*entry));
		(void)map_put(&records->by_id, record->id, entry);
	}
	entry->record = *record;
	link_entry(records, entry);
	return &entry->record;
}

struct move_record *move_records_find(const struct move_records *records,
	const char *id)
{
	struct records_entry *entry = map_get(&records->by_id, id);

	return entry == NULL ? NULL : &entry->record;
}

struct move_record *move_records_next(const struct move_records *records,
	size_t *at)
{
	void *value;

	return map_next(&records->by_id, at, NULL, &value)
		? &((struct records_entry *)value)->record
		: NULL;
}

/* A move that lasted long counts from its end. */
static uint64_t newest_time(const struct move_record *record)
{
	return record->ended_us > record->wall_us ? record->ended_us
						  : record->wall_us;
}

void move_records_expire(struct move_records *records, uint64_t now_us)
{
	size_t at = 0;
	void *value;

	while (map_next(&records->by_id, &at, NULL, &value)) {
		struct records_entry *entry = value;

		if (!move_is_open(&entry->record) &&
			entry->record.state != MOVE_RECOMMENDED &&
			newest_time(&entry->record) + MOVE_RECORDS_KEPT_US <
				now_us) {
			forget(records, entry);
		}
	}
}

void move_records_forget_open(struct move_records *records)
{
	size_t at = 0;
	void *value;

	while (map_next(&records->by_id, &at, NULL, &value)) {
		if (move_is_open(&((struct records_entry *)value)->record)) {
			forget(records, value);
		}
	}
}

void move_records_fini(struct move_records *records)
{
	size_t at = 0;
	void *value;

	while (map_next(&records->by_id, &at, NULL, &value)) {
		free(value);
	}
	map_fini(&records->by_id);
	map_fini(&records->by_vm);
	*records = (struct move_records){ 0 };
}

/* ---- questions ---- */

static bool has_moved(const struct move_record *record)
{
	return move_is_open(record) || record->state == MOVE_SUCCEEDED;
}

static uint64_t cooling_until(const struct records_entry *entry)
{
	uint64_t last_us = 0;
	unsigned moves = 0; /* within a day before the last one, and that */

	for (; entry != NULL; entry = entry->older) {
		uint64_t at_us = newest_time(&entry->record);

		if (!has_moved(&entry->record)) {
			continue;
		}
		if (last_us == 0) {
			last_us = at_us;
		}
		moves += at_us + MOVE_RECORDS_KEPT_US > last_us;
	}
	return last_us == 0
		? 0
		: last_us + (uint64_t)(rule_cooldown_s(moves) * 1e6);
}

/* KubeVirt refused the order, or the VM could not be copied. Another target
 * would help neither. */
static bool is_vms_failure(const struct move_record *record)
{
	return record->state == MOVE_FAILED
		? record->copy_s > 0
		: record->state == MOVE_WITHDRAWN && record->ordered_us != 0;
}

/* The migration existed, and nothing failed. */
static bool is_cancelled(const struct move_record *record)
{
	return record->state == MOVE_WITHDRAWN && record->ordered_us != 0 &&
		*record->migration != '\0';
}

static uint64_t resting_until(const struct records_entry *entry)
{
	uint64_t last_us = 0;
	unsigned failures = 0;

	for (; entry != NULL && entry->record.state != MOVE_SUCCEEDED;
		entry = entry->older) {
		if (is_cancelled(&entry->record)) {
			return entry->record.ended_us +
				MOVE_RECORDS_COOL_MAX_US;
		}
		if (is_vms_failure(&entry->record)) {
			last_us = failures == 0 ? entry->record.ended_us
						: last_us;
			failures++;
		}
	}
	return failures == 0 ? 0
			     : last_us + (uint64_t)vm_failures_wait(failures);
}

uint64_t move_records_cooling_until(const struct move_records *records,
	const char *namespace, const char *vm)
{
	const struct records_entry *newest;
	uint64_t cooling_us, resting_us;

	/* Nearly always: it spares the key. */
	if (records->by_vm.count == 0) {
		return 0;
	}
	newest = newest_of(records, namespace, vm);
	cooling_us = cooling_until(newest);
	resting_us = resting_until(newest);
	return cooling_us > resting_us ? cooling_us : resting_us;
}

const struct move_record *move_records_last_move(
	const struct move_records *records, const char *namespace,
	const char *vm)
{
	const struct records_entry *entry = newest_of(records, namespace, vm);

	while (entry != NULL && entry->record.state != MOVE_SUCCEEDED) {
		entry = entry->older;
	}
	return entry == NULL ? NULL : &entry->record;
}

unsigned move_records_ordered(const struct move_records *records,
	uint64_t since_us)
{
	const struct move_record *record;
	unsigned count = 0;
	size_t at = 0;

	while ((record = move_records_next(records, &at)) != NULL) {
		count += record->ordered_us > since_us;
	}
	return count;
}

size_t move_records_open(const struct move_records *records,
	const char *namespace)
{
	const struct move_record *record;
	size_t count = 0;
	size_t at = 0;

	while ((record = move_records_next(records, &at)) != NULL) {
		count += move_is_open(record) &&
			(namespace == NULL ||
				strcmp(record->namespace, namespace) == 0);
	}
	return count;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

double move_records_copy_pace(const struct move_records *records)
{
	scoped_free double *paces =
		xcalloc(records->by_id.count + 1, sizeof(*paces));
	const struct move_record *record;
	size_t count = 0;
	size_t at = 0;

	while ((record = move_records_next(records, &at)) != NULL) {
		if (record->state == MOVE_SUCCEEDED && record->copy_s > 0 &&
			record->memory_bytes > 0) {
			paces[count++] = record->copy_s / record->memory_bytes;
		}
	}
	if (count < MOVE_RECORDS_COPIES) {
		return NAN;
	}
	qsort(paces, count, sizeof(*paces), by_value);
	return paces[count / 2];
}

/* ---- failed targets ---- */

/* The failures to this target since the last success there. */
static unsigned failures_in_a_row(const struct records_entry *newest,
	const char *target)
{
	unsigned count = 0;

	for (const struct records_entry *e = newest; e != NULL; e = e->older) {
		if (strcmp(e->record.target, target) != 0) {
			continue;
		}
		if (e->record.state == MOVE_SUCCEEDED) {
			break;
		}
		count += e->record.state == MOVE_FAILED;
	}
	return count;
}

/* The newest failure of its VM to its target. */
static bool is_last_failure(const struct records_entry *newest,
	const struct records_entry *entry)
{
	for (const struct records_entry *e = newest; e != entry; e = e->older) {
		if (strcmp(e->record.target, entry->record.target) == 0 &&
			(e->record.state == MOVE_FAILED ||
				e->record.state == MOVE_SUCCEEDED)) {
			return false;
		}
	}
	return entry->record.state == MOVE_FAILED;
}

static void restore(const struct records_entry *newest,
	const struct records_entry *entry, struct vm_failures *failures,
	int64_t wall_ahead_us)
{
	const struct move_record *r = &entry->record;
	unsigned in_a_row;

	if (!is_last_failure(newest, entry)) {
		return;
	}
	in_a_row = failures_in_a_row(newest, r->target);
	vm_failures_restore(failures, r->namespace, r->vm, r->target, in_a_row,
		(int64_t)r->ended_us + vm_failures_wait(in_a_row) -
			wall_ahead_us);
}

void move_records_restore_failures(const struct move_records *records,
	struct vm_failures *failures, uint64_t now_us, int64_t monotonic_us)
{
	size_t at = 0;
	void *value;

	while (map_next(&records->by_vm, &at, NULL, &value)) {
		for (const struct records_entry *e = value; e != NULL;
			e = e->older) {
			restore(value, e, failures,
				(int64_t)now_us - monotonic_us);
		}
	}
}
