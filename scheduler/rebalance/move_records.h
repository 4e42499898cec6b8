/* The mover's memory of moves: the records of the last day, its own and
 * those of earlier leaders, as the aggregators keep them.
 *
 * Cool-downs, the doubling waits of failed targets, the pauses after failures
 * (move_pauses.h), the budget of an hour and the duration of a copy all come
 * from the records. A new leader that has read the records knows what the last
 * one knew. Bounded: recommendations and then the oldest records without work
 * left are forgotten first. All times are
 * microseconds since 1970. Pure. */
#pragma once

#include "lib/map.h"
#include "proto/move.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MOVE_RECORDS_MAX = 4096, /* records; 12 MB */
	/* Copies whose duration must be known before the median counts. */
	MOVE_RECORDS_COPIES = 5,
};

#define MOVE_RECORDS_KEPT_US UINT64_C(86400000000)

/* A VM that moved cools down for rule_cooldown_s() of its moves within a day. A
 * VM whose copy failed, or whose order KubeVirt refused, rests as a failed
 * target does (cluster/vm_failures.h). A VM whose migration somebody else ended
 * rests for this time. */
#define MOVE_RECORDS_COOL_MAX_US UINT64_C(21600000000)

struct vm_failures;

/* Zeroed: empty. */
struct move_records {
	struct map by_id; /* of struct records_entry */
	struct map
		by_vm; /* "namespace/name" -> its newest struct records_entry */
};

void move_records_fini(struct move_records *records);

/* Adds the record, or replaces an older revision of the same id. Returns the
 * kept record, which may be newer. The caller may change it but for its
 * names, and keeps it until the next move_records_put() or _expire(). */
struct move_record *move_records_put(struct move_records *records,
	const struct move_record *record);

struct move_record *move_records_find(const struct move_records *records,
	const char *id); /* NULL: not known */

/* Walks over the records in no order. *at starts at 0; NULL: no more. */
struct move_record *move_records_next(const struct move_records *records,
	size_t *at);

/* Forgets records that are older than a day and neither open nor recommended.
 * Its holder withdraws a recommendation. */
void move_records_expire(struct move_records *records, uint64_t now_us);

/* Forgets the open records: a later leader may have ended them. */
void move_records_forget_open(struct move_records *records);

/* Ordered, and not ended yet. */
bool move_is_open(const struct move_record *record);

/* Returns the number of such records of VMs of the namespace; NULL: of all. */
size_t move_records_open(const struct move_records *records,
	const char *namespace);

/* The end of the VM's cool-down or rest; 0: there is none. */
uint64_t move_records_cooling_until(const struct move_records *records,
	const char *namespace, const char *vm);

/* The newest record of the VM that succeeded; NULL: none. */
const struct move_record *move_records_last_move(
	const struct move_records *records, const char *namespace,
	const char *vm);

/* Returns the number of orders since then. */
unsigned move_records_ordered(const struct move_records *records,
	uint64_t since_us);

/* The median of the seconds that a copy took for each byte; NAN until
 * MOVE_RECORDS_COPIES are known. */
double move_records_copy_pace(const struct move_records *records);

/* Restores the doubling waits of the pairs of a VM and a target. now_us and
 * monotonic_us are the same moment on both clocks. */
void move_records_restore_failures(const struct move_records *records,
	struct vm_failures *failures, uint64_t now_us, int64_t monotonic_us);
