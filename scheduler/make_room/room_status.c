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

static void write_effort(struct json *j, const struct effort *effort)
{
	char when[CLOCK_TEXT_MAX];

	json_object(j, NULL);
	json_string(j, "namespace", effort->namespace);
	json_string(j, "pod", effort->name);
	json_integer(j, "priority", effort->priority);
	json_string(j, "state", effort_state_name(effort->state));
	json_string(j, "since", clock_text(when, effort->wall_us));
	write_text(j, "node", effort->node);
	json_bool(j, "holds_the_place", effort->is_holding);
	json_string(j, "plan", effort->sentence);
	json_array(j, "moves");
	for (size_t i = 0; i < effort->move_count; i++) {
		write_move(j, &effort->moves[i].record);
	}
	json_array_end(j);
	json_string(j, "why", effort->why);
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

void room_status_write(struct json *j, const struct efforts *efforts,
	const struct given_up *given_up)
{
	json_array(j, "making");
	for (size_t i = 0; i < efforts->count; i++) {
		write_effort(j, efforts->list[i]);
	}
	for (size_t i = 0; i < given_up->count; i++) {
		write_given_up(j, &given_up->list[i]);
	}
	json_array_end(j);
}
