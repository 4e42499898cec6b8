/* How long a group of reports is gathered before it is committed. Pure.
 *
 * What a commit costs hardly depends on how much is in it, so a longer wait is
 * cheaper. But an Ack is due INTAKE_ACK_US after a batch came: where commits
 * take their time, the wait is short. */
#pragma once

#include <stdint.h>

enum { PACE_LEAST_US = 50000, PACE_MOST_US = 100000 };

struct pace {		  /* zeroed: nothing is known */
	uint64_t slow_us; /* the slowest commit of late */
};

void pace_note(struct pace *pace, uint64_t commit_us);

uint64_t pace_gather_us(const struct pace *pace);
