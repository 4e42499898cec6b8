#include "scheduler/mover/recorder.h"

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"
#include "scheduler/bind/events.h"
#include "scheduler/loads/move_upload.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

struct moment moment_now(void)
{
	return (struct moment){ (int64_t)clock_monotonic_us(),
		clock_wall_us() };
}

void recorder_fini(struct recorder *recorder)
{
	move_records_fini(&recorder->records);
}

/* A random UUID: RFC 9562, version 4. */
static void make_id(char *out, size_t size)
{
	uint8_t b[16];

	if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b)) {
		abort(); /* Linux serves 16 bytes always */
	}
	b[6] = (uint8_t)(0x40 | (b[6] & 0x0f));
	b[8] = (uint8_t)(0x80 | (b[8] & 0x3f));
	(void)snprintf(out, size,
		"%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x"
		"%02x%02x",
		b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9],
		b[10], b[11], b[12], b[13], b[14], b[15]);
}

static void upload(struct recorder *recorder, const struct move_record *record)
{
	if (recorder->upload != NULL) {
		move_upload_add(recorder->upload, record);
	}
}

void recorder_update(struct recorder *recorder, struct move_record *record)
{
	record->revision++;
	upload(recorder, record);
}

/* The event of a record; NULL: people need none. */
static const char *reason_of(const struct move_record *record)
{
	static const char *const reasons[MOVE_STATES] = {
		[MOVE_RECOMMENDED] = "MoveRecommended",
		[MOVE_ORDERED] = "MoveOrdered",
		[MOVE_SUCCEEDED] = "MoveSucceeded",
		[MOVE_FAILED] = "MoveFailed",
	};

	return record->state == MOVE_WITHDRAWN && record->ordered_us != 0
		? "MoveWithdrawn"
		: reasons[record->state];
}

static char *note_of(const struct move_record *record)
{
	if (record->state == MOVE_FAILED) {
		return xasprintf("Move from %s to %s failed: %s",
			record->source, record->target, record->failure);
	}
	if (record->state == MOVE_WITHDRAWN) {
		return xasprintf("Move from %s to %s was withdrawn: %s",
			record->source, record->target, record->failure);
	}
	if (record->state == MOVE_SUCCEEDED) {
		return xasprintf("Moved from %s to %s", record->source,
			record->target);
	}
	return xasprintf("%s from %s to %s: %s%s",
		record->state == MOVE_ORDERED ? "Moving" : "A move is advised",
		record->source, record->target, record->sentence,
		record->is_other_scheduler
			? "; another scheduler would place the target"
			: "");
}

static void tell(struct recorder *recorder, const struct move_record *record,
	int64_t now_us)
{
	const char *reason = reason_of(record);
	scoped_free char *note = note_of(record);

	log_info("move changed state",
		log_str("state", move_state_name(record->state)),
		log_str("namespace", record->namespace),
		log_str("vm", record->vm), log_str("from", record->source),
		log_str("to", record->target), log_str("id", record->id),
		log_str("why", record->sentence),
		log_str("failure", record->failure), LOG_END);
	if (recorder->events != NULL && reason != NULL) {
		events_about_vmi(recorder->events,
			&(struct events_vmi){
				.namespace = record->namespace,
				.name = record->vm,
				.uid = record->vmi_uid,
				.reason = reason,
				.note = note,
				.is_warning = record->state == MOVE_FAILED,
			},
			now_us);
	}
}

struct move_record *recorder_add(struct recorder *recorder,
	const struct move_record *record, struct moment now)
{
	struct move_record fresh = *record;

	make_id(fresh.id, sizeof(fresh.id));
	fresh.revision = 1;
	fresh.wall_us = now.wall_us;
	return move_records_put(&recorder->records, &fresh);
}

void recorder_enter(struct recorder *recorder, struct move_record *record,
	enum move_state state, struct moment now)
{
	record->state = state;
	record->revision++;
	recorder->counts[state]++;
	upload(recorder, record);
	tell(recorder, record, now.now_us);
}
