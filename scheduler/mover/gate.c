#include "scheduler/mover/gate.h"

#include "lib/clock.h"

const char *mover_mode_name(enum mover_mode mode)
{
	static const char *const names[] = {
		[MOVER_OFF] = "off",
		[MOVER_RECOMMEND] = "recommend",
		[MOVER_AUTOMATIC] = "automatic",
	};

	return names[mode];
}

static const char *flag_of(const struct gate *gate)
{
	return gate->purpose == GATE_ROOM ? "--make-room" : "--rebalance";
}

bool gate_recommends_only(const struct gate *gate)
{
	return gate->mode != MOVER_AUTOMATIC || *gate->not_watching != '\0' ||
		*gate->not_ordering != '\0' || !gate->has_history;
}

static bool is_running(const struct gate *gate, struct buffer *why)
{
	if (gate->mode == MOVER_OFF) {
		buffer_printf(why, "%s is off", flag_of(gate));
	} else if (!gate->is_synced) {
		buffer_text(why, "the caches are not synced");
	} else if (!gate->leads) {
		buffer_text(why, "another replica is leader");
	} else if (*gate->not_watching != '\0') {
		buffer_text(why, gate->not_watching);
	} else {
		return true;
	}
	return false;
}

static bool is_automatic(const struct gate *gate, struct buffer *why)
{
	if (gate->mode != MOVER_AUTOMATIC) {
		buffer_printf(why, "%s is recommend", flag_of(gate));
	} else if (*gate->not_ordering != '\0') {
		buffer_text(why, gate->not_ordering);
	} else if (!gate->has_history) {
		buffer_text(why,
			"no connected aggregator has sent the records of "
			"earlier moves");
	} else {
		return true;
	}
	return false;
}

static void tell_next_window(const struct gate *gate, struct buffer *why)
{
	uint64_t next_us = windows_next_us(gate->windows, gate->wall_us);
	char when[CLOCK_TEXT_MAX];

	buffer_printf(why,
		"it is outside --rebalance-windows, the next of which begins "
		"at %.16sZ",
		clock_text(when, next_us));
}

bool gate_is_open(const struct gate *gate, struct buffer *why)
{
	char when[CLOCK_TEXT_MAX];

	if (!is_running(gate, why) || !is_automatic(gate, why)) {
		return false;
	}
	if (gate->purpose == GATE_REBALANCE &&
		!windows_is_open(gate->windows, gate->wall_us)) {
		tell_next_window(gate, why);
		return false;
	}
	if (gate->paused_until_us > gate->wall_us) {
		buffer_printf(why,
			"%u moves in a row failed, and moves are paused until "
			"%.19sZ",
			gate->failures,
			clock_text(when, gate->paused_until_us));
		return false;
	}
	return budget_admits(&gate->budget, why);
}
