#include "scheduler/mover/flights.h"

#include "lib/memory.h"
#include "scheduler/cache/cache.h"
#include "scheduler/cache/reservations.h"
#include "scheduler/cluster/vm_failures.h"
#include "scheduler/mover/adoption.h"
#include "scheduler/mover/target_room.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char no_reason[] = "KubeVirt gives no reason";

static const char was_deleted[] = "the migration object was deleted";

/* The part of a move that no record holds. */
struct flight {
	/* It was ordered, KubeVirt answered, or the copy began. */
	int64_t changed_us;
	int64_t failed_us;   /* its phase became Failed; 0: it did not */
	int64_t copying_us;  /* the copy was first seen; 0: it was not */
	int64_t copy_max_us; /* KubeVirt ends a copy after this; 0: unknown */
	int64_t cancel_us;   /* the last cancellation was sent or answered */
	bool is_asked;	     /* the order's answer is under way */
	bool is_deleted;     /* somebody deletes the unfinished migration */
	char *message;	     /* owned; why no node takes it; NULL: none */
	char *migration_uid; /* owned; NULL: not known */
	char *given_up;	     /* owned; why it is cancelled; NULL: it is not */
};

static void flight_free(struct flight *flight)
{
	if (flight != NULL) {
		free(flight->message);
		free(flight->migration_uid);
		free(flight->given_up);
		free(flight);
	}
}

void flights_fini(struct flights *flights)
{
	size_t at = 0;
	void *value;

	while (map_next(&flights->by_id, &at, NULL, &value)) {
		flight_free(value);
	}
	map_fini(&flights->by_id);
}

static struct flight *flight_of(struct flights *flights, const char *id,
	int64_t now_us)
{
	struct flight *flight = map_get(&flights->by_id, id);

	if (flight == NULL) {
		flight = xcalloc(1, sizeof(*flight));
		flight->changed_us = now_us;
		(void)map_put(&flights->by_id, id, flight);
	}
	return flight;
}

static struct move_record *open_record(const struct flights *flights,
	const char *id)
{
	struct move_record *record =
		move_book_find(&flights->journal->book, id);

	return record != NULL && move_is_open(record) ? record : NULL;
}

/* NULL: no open move is this migration's. */
static struct move_record *record_of(const struct flights *flights,
	const struct migration *migration)
{
	struct move_record *record = migration->is_ours
		? open_record(flights, migration->move_id)
		: NULL;

	return record != NULL && move_is_of(record, migration) ? record : NULL;
}

/* ---- the end ---- */

static void end(struct flights *flights, struct move_record *record,
	enum move_state state, struct moment now)
{
	reservations_cancel(flights->reservations, record->vmi_uid);
	node_watches_restart(flights->watches, record->source, now.now_us);
	if (record->ended_us == 0) {
		record->ended_us = now.wall_us;
	}
	flight_free(map_remove(&flights->by_id, record->id));
	journal_enter(flights->journal, record, state, now);
}

static void set_failure(struct move_record *record, const char *why)
{
	(void)snprintf(record->failure, sizeof(record->failure), "%s",
		*why == '\0' ? no_reason : why);
}

/* A failed copy has its duration, and the VM rests. */
static void fail(struct flights *flights, struct move_record *record,
	const char *why, struct moment now)
{
	const struct flight *flight = map_get(&flights->by_id, record->id);

	if (flight != NULL && flight->copying_us != 0) {
		record->copy_s = fmax(1,
			(double)(now.now_us - flight->copying_us) / 1e6);
	}
	vm_failures_add(&flights->cache->cluster.failures, record->namespace,
		record->vm, record->target, now.now_us);
	set_failure(record, why);
	end(flights, record, MOVE_FAILED, now);
}

/* The end is not the target's fault. */
static void withdraw(struct flights *flights, struct move_record *record,
	const char *why, struct moment now)
{
	set_failure(record, why);
	end(flights, record, MOVE_WITHDRAWN, now);
}

static void succeed(struct flights *flights, struct move_record *record,
	const struct vmi *vmi, struct moment now)
{
	if (vmi != NULL && vmi->ended_wall_us > vmi->started_wall_us &&
		vmi->started_wall_us > 0) {
		record->copy_s =
			(double)(vmi->ended_wall_us - vmi->started_wall_us) /
			1e6;
	}
	vm_failures_succeeded(&flights->cache->cluster.failures,
		record->namespace, record->vm, record->target);
	end(flights, record, MOVE_SUCCEEDED, now);
}

/* ---- orders ---- */

bool flights_order(struct flights *flights, struct move_record *record,
	const char *pod_uid, const char *hostname, struct moment now)
{
	struct kubevirt_order order = {
		.move_id = record->id,
		.namespace = record->namespace,
		.vmi_name = record->vm,
		.hostname = hostname,
		.unschedulable_s = KUBEVIRT_UNSCHEDULABLE_S,
		.pending_s = KUBEVIRT_PENDING_S,
	};

	if (!reservations_order(flights->reservations, pod_uid, record->target,
		    now.now_us)) {
		return false;
	}
	node_watches_restart(flights->watches, record->source, now.now_us);
	record->ordered_us = now.wall_us;
	record->is_automatic = true;
	flight_of(flights, record->id, now.now_us)->is_asked = true;
	journal_enter(flights->journal, record, MOVE_ORDERED, now);
	kubevirt_order(flights->kubevirt, &order);
	return true;
}

static void set_migration(struct flights *flights, struct move_record *record,
	const char *name)
{
	if (*record->migration == '\0') {
		(void)snprintf(record->migration, sizeof(record->migration),
			"%s", name);
		journal_update(flights->journal, record);
	}
}

void flights_answered(struct flights *flights, const char *move_id,
	const char *name, const char *error, struct moment now)
{
	struct move_record *record = open_record(flights, move_id);
	struct flight *flight = map_get(&flights->by_id, move_id);

	if (record == NULL || flight == NULL) {
		return; /* an order of an earlier term */
	}
	if (!flight->is_asked) {
		flight->cancel_us = now.now_us; /* a cancellation's answer */
		return;
	}
	flight->is_asked = false;
	if (*error != '\0') {
		withdraw(flights, record, error, now);
		return;
	}
	set_migration(flights, record, name);
	flight->changed_us = now.now_us;
}

/* ---- changes ---- */

static bool is_about(const struct vmi *vmi, const struct migration *migration)
{
	return vmi != NULL && strcmp(vmi->migration_uid, migration->uid) == 0;
}

/* KubeVirt ends a copy after a time for each GiB. A new leader sees copies that
 * began before its term. */
static void set_copy_limit(const struct flights *flights,
	const struct move_record *record, struct flight *flight,
	const struct vmi *vmi)
{
	const double gib = 1 << 30;
	struct migration_limits limits;

	if (flight->copy_max_us != 0 || vmi == NULL ||
		!(record->memory_bytes > 0)) {
		return;
	}
	kubevirt_limits(flights->kubevirt, vmi, &limits);
	flight->copy_max_us = (int64_t)(1e6 * limits.timeout_per_gib_s *
		fmax(record->memory_bytes / gib, 1));
}

static void follow_copy(struct flights *flights, struct move_record *record,
	struct flight *flight, const struct vmi *vmi, struct moment now)
{
	set_copy_limit(flights, record, flight, vmi);
	if (flight->copying_us == 0) {
		flight->copying_us = now.now_us;
		xreplace(&flight->message, NULL);
	}
	if (record->state != MOVE_RUNNING) {
		flight->changed_us = now.now_us;
		journal_enter(flights->journal, record, MOVE_RUNNING, now);
	}
}

/* NULL: KubeVirt has not written it yet. */
static const char *reason_of(const struct flight *flight, const struct vmi *vmi,
	int64_t now_us)
{
	if (strcmp(flight->migration_uid, vmi->migration_uid) == 0 &&
		*vmi->failure_reason != '\0') {
		return vmi->failure_reason;
	}
	return now_us - flight->failed_us >= FLIGHTS_REASON_US ? no_reason
							       : NULL;
}

/* Our own words say more than KubeVirt's. */
static void explain_failure(struct flights *flights, struct move_record *record,
	struct flight *flight, const struct vmi *vmi, struct moment now)
{
	scoped_free char *message = NULL;
	const char *reason;

	if (flight->failed_us == 0) {
		flight->failed_us = now.now_us;
	}
	if (flight->given_up != NULL || flight->message != NULL) {
		message = flight->given_up != NULL ? take_ptr(flight->given_up)
						   : take_ptr(flight->message);
		fail(flights, record, message, now);
		return;
	}
	if (vmi == NULL) {
		withdraw(flights, record, "the VMI is gone", now);
		return;
	}
	reason = reason_of(flight, vmi, now.now_us);
	if (reason != NULL && flight->is_deleted) {
		withdraw(flights, record,
			reason == no_reason ? was_deleted : reason, now);
	} else if (reason != NULL) {
		fail(flights, record, reason, now);
	}
}

void flights_changed(struct flights *flights, const struct migration *migration,
	const struct vmi *vmi, struct moment now)
{
	struct move_record *record = record_of(flights, migration);
	struct flight *flight;

	if (record == NULL) {
		return;
	}
	flight = flight_of(flights, record->id, now.now_us);
	xreplace(&flight->migration_uid, migration->uid);
	set_migration(flights, record, migration->name);
	flight->is_deleted |= migration->is_deleting &&
		flight->given_up == NULL && !migration_is_finished(migration);
	switch (migration->phase) {
	case MIGRATION_PENDING:
	case MIGRATION_SCHEDULING:
		break;
	case MIGRATION_RUNNING:
		follow_copy(flights, record, flight, vmi, now);
		break;
	case MIGRATION_SUCCEEDED:
		succeed(flights, record, is_about(vmi, migration) ? vmi : NULL,
			now);
		break;
	case MIGRATION_FAILED:
		explain_failure(flights, record, flight, vmi, now);
		break;
	}
}

/* No migration object: the node of the VM says what came of the move. */
static void conclude(struct flights *flights, struct move_record *record,
	const char *why, struct moment now)
{
	struct flight *flight = flight_of(flights, record->id, now.now_us);
	const struct vmi *vmi =
		kubevirt_vmi(flights->kubevirt, record->vmi_uid);
	scoped_free char *message = flight->given_up != NULL
		? take_ptr(flight->given_up)
		: take_ptr(flight->message);

	if (vmi != NULL && strcmp(vmi->node, record->target) == 0) {
		succeed(flights, record, vmi, now);
	} else if (message != NULL) {
		fail(flights, record, message, now);
	} else if (flight->failed_us != 0 && !flight->is_deleted) {
		fail(flights, record, no_reason, now);
	} else {
		withdraw(flights, record, vmi == NULL ? "the VMI is gone" : why,
			now);
	}
}

void flights_gone(struct flights *flights, const struct migration *migration,
	struct moment now)
{
	struct move_record *record = record_of(flights, migration);

	if (record != NULL) {
		conclude(flights, record, was_deleted, now);
	}
}

void flights_unschedulable(struct flights *flights, const struct pod *pod,
	const char *message)
{
	const struct move_record *record;
	size_t at = 0;

	if (flights->by_id.count == 0 || !pod->is_target) {
		return;
	}
	while ((record = move_book_next(&flights->journal->book, &at)) !=
		NULL) {
		struct flight *flight = map_get(&flights->by_id, record->id);

		if (flight != NULL &&
			strcmp(record->vmi_uid, pod->vmi_uid) == 0) {
			xreplace(&flight->message, message);
		}
	}
}

/* ---- time ---- */

static const struct migration *find_migration(const struct flights *flights,
	const struct move_record *record)
{
	const struct migration *migration;
	size_t at = 0;

	while ((migration = kubevirt_next_migration(flights->kubevirt, &at)) !=
		NULL) {
		if (migration->is_ours && move_is_of(record, migration)) {
			return migration;
		}
	}
	return NULL;
}

/* KubeVirt alone ends a copy whose limit is not known. */
static bool hangs(const struct move_record *record, const struct flight *flight,
	int64_t now_us)
{
	if (record->state == MOVE_RUNNING && flight->copy_max_us == 0) {
		return false;
	}
	return now_us - flight->changed_us >
		FLIGHTS_HANG_US + flight->copy_max_us;
}

/* The record stays open until the migration has ended or is gone. */
static void cancel(struct flights *flights, const struct move_record *record,
	struct flight *flight, int64_t now_us)
{
	if (flight->given_up == NULL) {
		flight->given_up = xstrdup(record->state == MOVE_RUNNING
				? "the copy did not end in time"
				: "nothing happened for 10 minutes");
	} else if (now_us - flight->cancel_us < FLIGHTS_CANCEL_US) {
		return;
	}
	flight->cancel_us = now_us;
	kubevirt_cancel(flights->kubevirt, record->id);
}

static void follow(struct flights *flights, struct move_record *record,
	struct flight *flight, const struct migration *migration,
	struct moment now)
{
	if (!migration_is_finished(migration) &&
		(flight->given_up != NULL ||
			hangs(record, flight, now.now_us))) {
		cancel(flights, record, flight, now.now_us);
	}
	flights_changed(flights, migration,
		kubevirt_vmi(flights->kubevirt, record->vmi_uid), now);
}

static bool is_at_target(const struct flights *flights,
	const struct move_record *record)
{
	const struct vmi *vmi =
		kubevirt_vmi(flights->kubevirt, record->vmi_uid);

	return vmi != NULL && !vmi->is_migrating &&
		strcmp(vmi->node, record->target) == 0;
}

/* An order whose answer is under way may still create its migration. */
static void await_migration(struct flights *flights, struct move_record *record,
	const struct flight *flight, struct moment now)
{
	if (is_at_target(flights, record)) {
		conclude(flights, record, was_deleted, now);
	} else if (!flight->is_asked &&
		(flight->given_up != NULL ||
			now.now_us - flight->changed_us > FLIGHTS_APPEAR_US)) {
		kubevirt_cancel(flights->kubevirt, record->id);
		conclude(flights, record, "the migration object is missing",
			now);
	}
}

static void check(struct flights *flights, struct move_record *record,
	struct moment now)
{
	const struct migration *migration = find_migration(flights, record);
	struct flight *flight = flight_of(flights, record->id, now.now_us);
	const struct target_room room = { record->namespace, record->vmi_uid,
		record->target };

	if (record->state == MOVE_ORDERED &&
		target_room_keep(flights->reservations, &room, migration,
			now.now_us)) {
		xreplace(&flight->message, NULL);
	}
	if (migration != NULL) {
		follow(flights, record, flight, migration, now);
	} else {
		await_migration(flights, record, flight, now);
	}
}

void flights_tick(struct flights *flights, struct moment now)
{
	struct move_record *record;
	size_t at = 0;

	while ((record = move_book_next(&flights->journal->book, &at)) !=
		NULL) {
		if (move_is_open(record)) {
			check(flights, record, now);
		}
	}
}

size_t flights_count(const struct flights *flights)
{
	const struct move_record *record;
	size_t count = 0;
	size_t at = 0;

	while ((record = move_book_next(&flights->journal->book, &at)) !=
		NULL) {
		count += move_is_open(record);
	}
	return count;
}
