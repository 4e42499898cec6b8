#include "scheduler/make_room/room_status.h"

#include "lib/clock.h"

static void write_move(struct json *j, const struct move_record *record)
{
	json_object(j, NULL);
	json_string(j, "id", record->id);
	json_string(j, "namespace", record->namespace);
	json_string(j, "vm", record->vm);
	json_string(j, "source", record->source);
	json_string(j, "target", record->target);
	json_string(j, "state",
		*record->id == '\0' ? "planned"
				    : move_state_name(record->state));
	json_string(j, "failure", record->failure);
	json_object_end(j);
}

static void write_text(struct json *j, const char *key, const char *text)
{
	if (*text == '\0') {
		json_null(j, key);
	} else {
		json_string(j, key, text);
	}
}

static void write_attempt(struct json *j, const struct attempt *attempt)
{
	char when[CLOCK_TEXT_MAX];

	json_object(j, NULL);
	json_string(j, "namespace", attempt->namespace);
	json_string(j, "pod", attempt->name);
	json_integer(j, "priority", attempt->priority);
	json_string(j, "state", attempt_state_name(attempt->state));
	json_string(j, "since", clock_text(when, attempt->wall_us));
	write_text(j, "node", attempt->node);
	json_bool(j, "holds_the_place", attempt->is_holding);
	json_string(j, "plan", attempt->sentence);
	json_array(j, "moves");
	for (size_t i = 0; i < attempt->move_count; i++) {
		write_move(j, &attempt->moves[i].record);
	}
	json_array_end(j);
	json_string(j, "why", attempt->why);
	json_object_end(j);
}

static void write_given_up(struct json *j, const struct given_up_pod *pod)
{
	char when[CLOCK_TEXT_MAX];

	json_object(j, NULL);
	json_string(j, "namespace", pod->namespace);
	json_string(j, "pod", pod->name);
	json_integer(j, "priority", pod->priority);
	json_string(j, "state", "given_up");
	json_string(j, "since", clock_text(when, pod->wall_us));
	json_null(j, "node");
	json_bool(j, "holds_the_place", false);
	json_string(j, "plan", "");
	json_array(j, "moves");
	json_array_end(j);
	json_string(j, "why", pod->why);
	json_object_end(j);
}

void room_status_write(struct json *j, const struct attempts *attempts,
	const struct given_up *given_up)
{
	json_array(j, "making");
	for (size_t i = 0; i < attempts->count; i++) {
		write_attempt(j, attempts->list[i]);
	}
	for (size_t i = 0; i < given_up->count; i++) {
		write_given_up(j, &given_up->list[i]);
	}
	json_array_end(j);
}
