#include "scheduler/mover/open_moves.h"

#include "lib/memory.h"
#include "scheduler/cache/cache.h"
#include "scheduler/cache/reservations.h"
#include "scheduler/cluster/vm_failures.h"
#include "scheduler/mover/takeover.h"
#include "scheduler/mover/target_reservation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char no_reason[] = "KubeVirt gives no reason";

static const char was_deleted[] = "the migration object was deleted";

static const char over_quota[] =
	"a ResourceQuota of the namespace admits no second launcher pod";

/* The part of a move that no record holds. */
struct open_move {
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

static void open_move_free(struct open_move *open)
{
	if (open != NULL) {
		free(open->message);
		free(open->migration_uid);
		free(open->given_up);
		free(open);
	}
}

void open_moves_fini(struct open_moves *moves)
{
	size_t at = 0;
	void *value;

	while (map_next(&moves->by_id, &at, NULL, &value)) {
		open_move_free(value);
	}
	map_fini(&moves->by_id);
}

static struct open_move *open_move_of(struct open_moves *moves, const char *id,
	int64_t now_us)
{
	struct open_move *open = map_get(&moves->by_id, id);

	if (open == NULL) {
		open = xcalloc(1, sizeof(*open));
		open->changed_us = now_us;
		(void)map_put(&moves->by_id, id, open);
	}
	return open;
}

static struct move_record *open_record(const struct open_moves *moves,
	const char *id)
{
	struct move_record *record =
		move_records_find(&moves->recorder->records, id);

	return record != NULL && move_is_open(record) ? record : NULL;
}

/* NULL: no open move is this migration's. */
static struct move_record *record_of(const struct open_moves *moves,
	const struct migration *migration)
{
	struct move_record *record = migration->is_ours
		? open_record(moves, migration->move_id)
		: NULL;

	return record != NULL && move_is_of(record, migration) ? record : NULL;
}

/* ---- the end ---- */

static void end(struct open_moves *moves, struct move_record *record,
	enum move_state state, struct moment now)
{
	reservations_cancel(moves->reservations, record->namespace,
		record->vmi_uid);
	node_watches_restart(moves->watches, record->source, now.now_us);
	if (record->ended_us == 0) {
		record->ended_us = now.wall_us;
	}
	open_move_free(map_remove(&moves->by_id, record->id));
	recorder_enter(moves->recorder, record, state, now);
}

static void set_failure(struct move_record *record, const char *why)
{
	(void)snprintf(record->failure, sizeof(record->failure), "%s",
		*why == '\0' ? no_reason : why);
}

/* A failed copy has its duration, and the VM's cooldown begins. */
static void fail(struct open_moves *moves, struct move_record *record,
	const char *why, struct moment now)
{
	const struct open_move *open = map_get(&moves->by_id, record->id);

	if (open != NULL && open->copying_us != 0) {
		record->copy_s =
			fmax(1, (double)(now.now_us - open->copying_us) / 1e6);
	}
	vm_failures_add(&moves->cache->cluster.failures, record->namespace,
		record->vm, record->target, now.now_us);
	set_failure(record, why);
	end(moves, record, MOVE_FAILED, now);
}

/* The end is not the target's fault. */
static void withdraw(struct open_moves *moves, struct move_record *record,
	const char *why, struct moment now)
{
	set_failure(record, why);
	end(moves, record, MOVE_WITHDRAWN, now);
}

/* last: the state of the move's migration, as far as the VMI has it. */
static void succeed(struct open_moves *moves, struct move_record *record,
	const struct vmi_migration *last, struct moment now)
{
	int64_t took_us = last->ended_wall_us - last->started_wall_us;

	if (last->started_wall_us > 0 && took_us > 0) {
		record->copy_s = (double)took_us / 1e6;
	}
	vm_failures_succeeded(&moves->cache->cluster.failures,
		record->namespace, record->vm, record->target);
	end(moves, record, MOVE_SUCCEEDED, now);
}

/* ---- orders ---- */

bool open_moves_order(struct open_moves *moves, struct move_record *record,
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

	if (!reservations_order(moves->reservations, pod_uid, record->target,
		    now.now_us)) {
		return false;
	}
	node_watches_restart(moves->watches, record->source, now.now_us);
	record->ordered_us = now.wall_us;
	record->is_automatic = true;
	open_move_of(moves, record->id, now.now_us)->is_asked = true;
	recorder_enter(moves->recorder, record, MOVE_ORDERED, now);
	kubevirt_order(moves->kubevirt, &order);
	return true;
}

static void set_migration(struct open_moves *moves, struct move_record *record,
	const char *name)
{
	if (*record->migration == '\0') {
		(void)snprintf(record->migration, sizeof(record->migration),
			"%s", name);
		recorder_update(moves->recorder, record);
	}
}

void open_moves_answered(struct open_moves *moves, const char *move_id,
	const char *name, const char *error, struct moment now)
{
	struct move_record *record = open_record(moves, move_id);
	struct open_move *open = map_get(&moves->by_id, move_id);

	if (record == NULL || open == NULL) {
		return; /* an order of an earlier term */
	}
	if (!open->is_asked) {
		open->cancel_us = now.now_us; /* a cancellation's answer */
		return;
	}
	open->is_asked = false;
	if (*error != '\0') {
		withdraw(moves, record, error, now);
		return;
	}
	set_migration(moves, record, name);
	open->changed_us = now.now_us;
}

/* ---- changes ---- */

/* KubeVirt ends a copy after a time for each GiB. A new leader sees copies that
 * began before its term. */
static void set_copy_limit(const struct open_moves *moves,
	const struct move_record *record, struct open_move *open,
	const struct vmi *vmi)
{
	const double gib = 1 << 30;
	struct migration_limits limits;

	if (open->copy_max_us != 0 || vmi == NULL ||
		!(record->memory_bytes > 0)) {
		return;
	}
	kubevirt_limits(moves->kubevirt, vmi, &limits);
	open->copy_max_us = (int64_t)(1e6 * limits.timeout_per_gib_s *
		fmax(record->memory_bytes / gib, 1));
}

static void follow_copy(struct open_moves *moves, struct move_record *record,
	struct open_move *open, const struct vmi *vmi, struct moment now)
{
	set_copy_limit(moves, record, open, vmi);
	if (open->copying_us == 0) {
		open->copying_us = now.now_us;
		xreplace(&open->message, NULL);
	}
	if (record->state != MOVE_RUNNING) {
		open->changed_us = now.now_us;
		recorder_enter(moves->recorder, record, MOVE_RUNNING, now);
	}
}

/* NULL: KubeVirt has not written it yet. */
static const char *reason_of(const struct open_move *open,
	const struct vmi *vmi, int64_t now_us)
{
	const struct vmi_migration *last = vmi_last_migration(vmi);

	if (strcmp(open->migration_uid, last->uid) == 0 &&
		*last->failure_reason != '\0') {
		return last->failure_reason;
	}
	return now_us - open->failed_us >= OPEN_MOVES_REASON_US ? no_reason
								: NULL;
}

/* Our own words say more than KubeVirt's. */
static void explain_failure(struct open_moves *moves,
	struct move_record *record, struct open_move *open,
	const struct vmi *vmi, struct moment now)
{
	scoped_free char *message = NULL;
	const char *reason;

	if (open->failed_us == 0) {
		open->failed_us = now.now_us;
	}
	if (open->given_up != NULL || open->message != NULL) {
		message = open->given_up != NULL ? take_ptr(open->given_up)
						 : take_ptr(open->message);
		fail(moves, record, message, now);
		return;
	}
	if (vmi == NULL) {
		withdraw(moves, record, "the VMI is gone", now);
		return;
	}
	reason = reason_of(open, vmi, now.now_us);
	if (reason != NULL && open->is_deleted) {
		withdraw(moves, record,
			reason == no_reason ? was_deleted : reason, now);
	} else if (reason != NULL) {
		fail(moves, record, reason, now);
	}
}

void open_moves_changed(struct open_moves *moves,
	const struct migration *migration, const struct vmi *vmi,
	struct moment now)
{
	struct move_record *record = record_of(moves, migration);
	struct open_move *open;

	if (record == NULL) {
		return;
	}
	open = open_move_of(moves, record->id, now.now_us);
	xreplace(&open->migration_uid, migration->uid);
	set_migration(moves, record, migration->name);
	open->is_deleted |= migration->is_deleting && open->given_up == NULL &&
		!migration_is_finished(migration);
	switch (migration->phase) {
	case MIGRATION_PENDING:
	case MIGRATION_SCHEDULING:
		break;
	case MIGRATION_RUNNING:
		follow_copy(moves, record, open, vmi, now);
		break;
	case MIGRATION_SUCCEEDED:
		succeed(moves, record, vmi_migration_state(vmi, migration->uid),
			now);
		break;
	case MIGRATION_FAILED:
		explain_failure(moves, record, open, vmi, now);
		break;
	}
}

/* No migration object: the node of the VM says what came of the move. */
static void conclude(struct open_moves *moves, struct move_record *record,
	const char *why, struct moment now)
{
	struct open_move *open = open_move_of(moves, record->id, now.now_us);
	const struct vmi *vmi = kubevirt_vmi(moves->kubevirt, record->vmi_uid);
	scoped_free char *message = open->given_up != NULL
		? take_ptr(open->given_up)
		: take_ptr(open->message);

	if (vmi != NULL && strcmp(vmi->node, record->target) == 0) {
		succeed(moves, record, vmi_last_migration(vmi), now);
	} else if (message != NULL) {
		fail(moves, record, message, now);
	} else if (open->failed_us != 0 && !open->is_deleted) {
		fail(moves, record, no_reason, now);
	} else {
		withdraw(moves, record, vmi == NULL ? "the VMI is gone" : why,
			now);
	}
}

void open_moves_gone(struct open_moves *moves,
	const struct migration *migration, struct moment now)
{
	struct move_record *record = record_of(moves, migration);

	if (record != NULL) {
		conclude(moves, record, was_deleted, now);
	}
}

/* The pod's author writes its label with the UID. */
static bool is_of_vmi(const struct move_record *record, const struct pod *pod)
{
	return strcmp(record->vmi_uid, pod->vmi_uid) == 0 &&
		strcmp(record->namespace, pod->namespace) == 0;
}

void open_moves_unschedulable(struct open_moves *moves, const struct pod *pod,
	const char *message)
{
	const struct move_record *record;
	size_t at = 0;

	if (moves->by_id.count == 0 || !pod->is_target) {
		return;
	}
	while ((record = move_records_next(&moves->recorder->records, &at)) !=
		NULL) {
		struct open_move *open = map_get(&moves->by_id, record->id);

		if (open != NULL && is_of_vmi(record, pod)) {
			xreplace(&open->message, message);
		}
	}
}

/* ---- time ---- */

static const struct migration *find_migration(const struct open_moves *moves,
	const struct move_record *record)
{
	const struct migration *migration;
	size_t at = 0;

	while ((migration = kubevirt_next_migration(moves->kubevirt, &at)) !=
		NULL) {
		if (migration->is_ours && move_is_of(record, migration)) {
			return migration;
		}
	}
	return NULL;
}

/* NULL: the move goes on. KubeVirt alone ends a copy whose limit is not
 * known. */
static const char *why_hopeless(const struct move_record *record,
	const struct open_move *open, const struct migration *migration,
	int64_t now_us)
{
	bool is_running = record->state == MOVE_RUNNING;

	if (migration->is_over_quota && migration->phase == MIGRATION_PENDING) {
		return over_quota;
	}
	if ((is_running && open->copy_max_us == 0) ||
		now_us - open->changed_us <=
			OPEN_MOVES_HANG_US + open->copy_max_us) {
		return NULL;
	}
	return is_running ? "the copy did not end in time"
			  : "nothing happened for 10 minutes";
}

/* The record stays open until the migration has ended or is gone. */
static void cancel(struct open_moves *moves, const struct move_record *record,
	struct open_move *open, const char *why, int64_t now_us)
{
	if (open->given_up == NULL) {
		open->given_up = xstrdup(why);
	} else if (now_us - open->cancel_us < OPEN_MOVES_CANCEL_US) {
		return;
	}
	open->cancel_us = now_us;
	kubevirt_cancel(moves->kubevirt, record->id);
}

static void follow(struct open_moves *moves, struct move_record *record,
	struct open_move *open, const struct migration *migration,
	struct moment now)
{
	const char *why = why_hopeless(record, open, migration, now.now_us);

	if (!migration_is_finished(migration) &&
		(open->given_up != NULL || why != NULL)) {
		cancel(moves, record, open, why, now.now_us);
	}
	open_moves_changed(moves, migration,
		kubevirt_vmi(moves->kubevirt, record->vmi_uid), now);
}

static bool is_at_target(const struct open_moves *moves,
	const struct move_record *record)
{
	const struct vmi *vmi = kubevirt_vmi(moves->kubevirt, record->vmi_uid);

	return vmi != NULL && !vmi->is_migrating &&
		strcmp(vmi->node, record->target) == 0;
}

/* An order whose answer is under way may still create its migration. */
static void await_migration(struct open_moves *moves,
	struct move_record *record, const struct open_move *open,
	struct moment now)
{
	if (is_at_target(moves, record)) {
		conclude(moves, record, was_deleted, now);
	} else if (!open->is_asked &&
		(open->given_up != NULL ||
			now.now_us - open->changed_us > OPEN_MOVES_APPEAR_US)) {
		kubevirt_cancel(moves->kubevirt, record->id);
		conclude(moves, record, "the migration object is missing", now);
	}
}

static void check(struct open_moves *moves, struct move_record *record,
	struct moment now)
{
	const struct migration *migration = find_migration(moves, record);
	struct open_move *open = open_move_of(moves, record->id, now.now_us);
	const struct target_reservation room = { record->namespace,
		record->vmi_uid, record->target };

	if (record->state == MOVE_ORDERED &&
		target_reservation_keep(moves->reservations, &room, migration,
			now.now_us)) {
		xreplace(&open->message, NULL);
	}
	if (migration != NULL) {
		follow(moves, record, open, migration, now);
	} else {
		await_migration(moves, record, open, now);
	}
}

void open_moves_tick(struct open_moves *moves, struct moment now)
{
	struct move_record *record;
	size_t at = 0;

	while ((record = move_records_next(&moves->recorder->records, &at)) !=
		NULL) {
		if (move_is_open(record)) {
			check(moves, record, now);
		}
	}
}
