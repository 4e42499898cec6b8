#include "scheduler/make_room/room_words.h"

void room_words_message(struct buffer *out, const struct attempt *attempt)
{
	switch (attempt->state) {
	case ATTEMPT_PLANNING:
	case ATTEMPT_BINDING:
	case ATTEMPT_STATES:
		break;
	case ATTEMPT_WITHOUT_PLAN:
		buffer_printf(out, " plimsoll cannot make room: %s",
			attempt->sentence);
		break;
	case ATTEMPT_RECOMMENDED:
		buffer_printf(out, " plimsoll can make room: %s",
			attempt->sentence);
		break;
	case ATTEMPT_MOVING:
		buffer_printf(out, " plimsoll makes room on %s: %s",
			attempt->node, attempt->sentence);
		break;
	case ATTEMPT_WAITING:
		buffer_printf(out, " plimsoll holds the place on %s.",
			attempt->node);
		break;
	}
}

void room_words_given_up(struct buffer *out, const struct given_up_pod *pod)
{
	buffer_printf(out, " plimsoll gave up making room: %s", pod->why);
}

void room_words_state(struct buffer *out, const struct attempt *attempt)
{
	switch (attempt == NULL ? ATTEMPT_STATES : attempt->state) {
	case ATTEMPT_PLANNING:
	case ATTEMPT_BINDING:
		break;
	case ATTEMPT_WITHOUT_PLAN:
		buffer_text(out, " plimsoll cannot make room.");
		break;
	case ATTEMPT_RECOMMENDED:
		buffer_text(out, " plimsoll can make room.");
		break;
	case ATTEMPT_MOVING:
		buffer_printf(out, " plimsoll makes room on %s.",
			attempt->node);
		break;
	case ATTEMPT_WAITING:
		buffer_printf(out, " plimsoll holds the place on %s.",
			attempt->node);
		break;
	case ATTEMPT_STATES:
		buffer_text(out, " plimsoll gave up making room.");
		break;
	}
}

void room_words_taken(struct buffer *out, const struct attempt *attempt,
	const struct pod *newcomer, bool is_alone)
{
	buffer_printf(out,
		"%s/%s of scheduler %s%s took the place held for %s/%s on %s",
		newcomer->namespace, newcomer->name, newcomer->scheduler_name,
		is_alone ? "" : " and other pods", attempt->namespace,
		attempt->name, attempt->held_node);
}

void room_words_failed(struct buffer *out, const struct move_record *record)
{
	buffer_printf(out, "the move of %s/%s from %s to %s %s: %s",
		record->namespace, record->vm, record->source, record->target,
		record->state == MOVE_FAILED ? "failed" : "was withdrawn",
		record->failure);
}
