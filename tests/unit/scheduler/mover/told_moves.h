/* The moves that a test's mover records, for the golden section of the test. */
#pragma once

#include "proto/move.h"
#include "tests/support/golden.h"

static inline void tell_record(const struct move_record *r)
{
	golden_tell(
		"record %s %u: %s %s, %s/%s %s, %s > %s, room for %s %s,"
		" other %d, automatic %d, %llu %llu %llu, %s: %s\n%s\n",
		r->id, r->revision, move_state_name(r->state),
		move_reason_name(r->reason), r->namespace, r->vm, r->vmi_uid,
		r->source, r->target, r->room_for, r->room_for_uid,
		r->is_other_scheduler, r->is_automatic,
		(unsigned long long)r->wall_us,
		(unsigned long long)r->ordered_us,
		(unsigned long long)r->ended_us, r->migration, r->failure,
		r->sentence);
#define X(figure) golden_tell(" " #figure " %.6g", r->figure);
	MOVE_FIGURES(X)
#undef X
	golden_tell("\n");
}
