#include "proto/move.h"

#include "lib/memory.h"

#include <string.h>

static const char *const state_names[MOVE_STATES] = {
	[MOVE_RECOMMENDED] = "recommended",
	[MOVE_WITHDRAWN] = "withdrawn",
	[MOVE_ORDERED] = "ordered",
	[MOVE_RUNNING] = "running",
	[MOVE_SUCCEEDED] = "succeeded",
	[MOVE_FAILED] = "failed",
};

static const char *const reason_names[MOVE_REASONS] = {
	[MOVE_FOR_CPU] = "cpu",
	[MOVE_FOR_MEMORY] = "memory",
	[MOVE_FOR_IO] = "io",
	[MOVE_FOR_KVM] = "kvm",
	[MOVE_FOR_ROOM] = "room",
};

const char *move_state_name(enum move_state state)
{
	return state_names[state];
}

const char *move_reason_name(enum move_reason reason)
{
	return reason_names[reason];
}

bool move_state_parse(enum move_state *out, const char *name)
{
	for (size_t i = 0; i < count_of(state_names); i++) {
		if (strcmp(name, state_names[i]) == 0) {
			*out = (enum move_state)i;
			return true;
		}
	}
	return false;
}

uint64_t move_changed_us(const struct move_record *move)
{
	uint64_t changed_us = move->wall_us;

	if (move->ordered_us > changed_us) {
		changed_us = move->ordered_us;
	}
	return move->ended_us > changed_us ? move->ended_us : changed_us;
}
