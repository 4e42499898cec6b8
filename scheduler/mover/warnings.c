#include "scheduler/mover/warnings.h"

#include "lib/log.h"
#include "lib/memory.h"
#include "scheduler/bind/events.h"

#include <string.h>

void warnings_conflict(struct events *events, const struct migration *migration,
	const char *source, const struct move_record *last, int64_t now_us)
{
	log_warning("another controller moved a VM after plimsoll did",
		log_str("namespace", migration->namespace),
		log_str("vm", migration->vmi_name), log_str("from", source),
		log_str("to", migration->target), LOG_END);
	events_about_vmi(events,
		&(struct events_vmi){
			.namespace = last->namespace,
			.name = last->vm,
			.uid = last->vmi_uid,
			.reason = "MoveStandsAside",
			.note = "Somebody else moves this VM within 2 "
				"hours after it was moved: it is left "
				"alone for 6 hours",
			.is_warning = true,
		},
		now_us);
}

static const struct move_record *last_failure(
	const struct move_records *records, const char *namespace)
{
	const struct move_record *last = NULL;
	const struct move_record *record;
	size_t at = 0;

	while ((record = move_records_next(records, &at)) != NULL) {
		if (record->state == MOVE_FAILED &&
			(namespace == NULL ||
				strcmp(record->namespace, namespace) == 0) &&
			(last == NULL || record->ended_us > last->ended_us)) {
			last = record;
		}
	}
	return last;
}

void warnings_pause(const struct recorder *recorder, const char *namespace,
	unsigned failures, int64_t now_us)
{
	const struct move_record *last =
		last_failure(&recorder->records, namespace);
	scoped_free char *note = xasprintf(
		"%u moves in a row failed%s: moves "
		"%s are paused for 30 minutes",
		failures, namespace == NULL ? "" : " in this namespace",
		namespace == NULL ? "of all VMs" : "of its VMs");

	if (namespace == NULL) {
		log_warning("moves are paused after failures",
			log_int("failures", failures), LOG_END);
	} else {
		log_warning("moves of a namespace are paused after failures",
			log_str("namespace", namespace),
			log_int("failures", failures), LOG_END);
	}
	if (last != NULL) {
		events_about_vmi(recorder->events,
			&(struct events_vmi){ .namespace = last->namespace,
				.name = last->vm,
				.uid = last->vmi_uid,
				.reason = "MovesPaused",
				.note = note,
				.is_warning = true },
			now_us);
	}
}
