/* The times of the week at which VMs may be moved: --rebalance-windows.
 *
 * "Mon-Fri 22:00-05:00,Sat,Sun": a list of days or ranges of days, each with
 * the hours from a time to a time, or whole. Hours that end before they begin
 * cross midnight into the next day. All times are UTC. Pure. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	WINDOWS_MINUTES = 7 * 24 * 60,
	WINDOWS_TEXT_MAX = 4096, /* bytes of the flag */
};

struct windows {
	/* A bit for each minute of the week that begins on Monday. */
	uint8_t minutes[WINDOWS_MINUTES / 8];
};

/* "": always. -EINVAL: the error names the part that is invalid. */
must_check int windows_parse(struct windows *out, const char *text,
	struct error *err);

/* wall_us: microseconds since 1970. */
bool windows_is_open(const struct windows *windows, uint64_t wall_us);

/* When the next window begins, in microseconds since 1970: wall_us itself
 * within a window; 0: there is no window. */
uint64_t windows_next_us(const struct windows *windows, uint64_t wall_us);
