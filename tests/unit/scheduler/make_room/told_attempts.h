/* The attempts of a test that makes room, for its golden section. */
#pragma once

#include "lib/json.h"
#include "tests/unit/scheduler/make_room/room_steps.h"
#include "tests/unit/scheduler/mover/told_state.h"

/* Adds what can be seen of the attempts. */
static inline void room_tell_state(void)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 16);
	struct json j = json_into(&out);
	struct make_room_stats stats;

	tell_state();
	json_object(&j, NULL);
	make_room_describe(room.room, &j);
	json_object_end(&j);
	make_room_stats(room.room, &stats);
	golden_tell(
		"%s\n%zu attempts, %llu made, %llu lost, %llu given up, "
		"%llu without a plan%s\n",
		out.data, stats.attempts, (unsigned long long)stats.made,
		(unsigned long long)stats.lost,
		(unsigned long long)stats.given_up,
		(unsigned long long)stats.without_plan,
		stats.orders ? ", orders" : "");
}
