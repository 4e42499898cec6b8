#include "scheduler/make_room/room_words.h"

void room_words_message(struct buffer *out, const struct effort *effort)
{
	switch (effort->state) {
	case EFFORT_PLANNING:
	case EFFORT_BINDING:
	case EFFORT_STATES:
		break;
	case EFFORT_WITHOUT_PLAN:
		buffer_printf(out, " plimsoll cannot make room: %s",
			effort->sentence);
		break;
	case EFFORT_RECOMMENDED:
		buffer_printf(out, " plimsoll can make room: %s",
			effort->sentence);
		break;
	case EFFORT_MOVING:
		buffer_printf(out, " plimsoll makes room on %s: %s",
			effort->node, effort->sentence);
		break;
	case EFFORT_WAITING:
		buffer_printf(out, " plimsoll holds the place on %s.",
			effort->node);
		break;
	}
}

void room_words_given_up(struct buffer *out, const struct given_up_pod *pod)
{
	buffer_printf(out, " plimsoll gave up making room: %s", pod->why);
}

void room_words_state(struct buffer *out, const struct effort *effort)
{
	switch (effort == NULL ? EFFORT_STATES : effort->state) {
	case EFFORT_PLANNING:
	case EFFORT_BINDING:
		break;
	case EFFORT_WITHOUT_PLAN:
		buffer_text(out, " plimsoll cannot make room.");
		break;
	case EFFORT_RECOMMENDED:
		buffer_text(out, " plimsoll can make room.");
		break;
	case EFFORT_MOVING:
		buffer_printf(out, " plimsoll makes room on %s.", effort->node);
		break;
	case EFFORT_WAITING:
		buffer_printf(out, " plimsoll holds the place on %s.",
			effort->node);
		break;
	case EFFORT_STATES:
		buffer_text(out, " plimsoll gave up making room.");
		break;
	}
}

void room_words_taken(struct buffer *out, const struct effort *effort,
	const struct pod *taker, bool is_alone)
{
	buffer_printf(out,
		"%s/%s of scheduler %s%s took the place held for %s/%s on %s",
		taker->namespace, taker->name, taker->scheduler_name,
		is_alone ? "" : " and other pods", effort->namespace,
		effort->name, effort->held_node);
}

void room_words_failed(struct buffer *out, const struct move_record *record)
{
	buffer_printf(out, "the move of %s/%s from %s to %s %s: %s",
		record->namespace, record->vm, record->source, record->target,
		record->state == MOVE_FAILED ? "failed" : "was withdrawn",
		record->failure);
}
