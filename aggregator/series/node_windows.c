#include "aggregator/series/node_windows.h"

#include <math.h>

/* Slots are sized for the windows read from them: 10 s; 60 s, 5 min and 15 min;
 * 1 h. There is one slot more, for the one that the start of a window cuts. */
static const uint64_t second_us = 1000000;
enum { FAST_S = 1, FAST_SLOTS = 11 };
enum { MIDDLE_S = 10, MIDDLE_SLOTS = 91, MINUTE_SLOTS = 7 };
enum { SLOW_S = 60, SLOW_SLOTS = 61 };
/* Percentiles: 1 h in slots of 5 min, 1 d in slots of 1 h. */
enum { HOUR_SLOT_S = 300, HOUR_SLOTS = 13 };
enum { DAY_SLOT_S = 3600, DAY_SLOTS = 25 };

/* All windows: type, member, length of a slot, slots. */
#define WINDOWS(X)                                                             \
	X(window, cores_fast, FAST_S, FAST_SLOTS)                              \
	X(window, cores_middle, MIDDLE_S, MIDDLE_SLOTS)                        \
	X(window, cores_slow, SLOW_S, SLOW_SLOTS)                              \
	X(window, pressure, MIDDLE_S, MINUTE_SLOTS)                            \
	X(window, memory_used, MIDDLE_S, MIDDLE_SLOTS)                         \
	X(window, memory_full, MIDDLE_S, MINUTE_SLOTS)                         \
	X(window, io_full, MIDDLE_S, MINUTE_SLOTS)                             \
	X(window, swap_in, MIDDLE_S, MINUTE_SLOTS)                             \
	X(histogram_window, cores_hour, HOUR_SLOT_S, HOUR_SLOTS)               \
	X(histogram_window, cores_day, DAY_SLOT_S, DAY_SLOTS)

void node_windows_init(struct node_windows *windows)
{
#define X(type, member, slot_s, slots)                                         \
	type##_init(&windows->member, second_us *(slot_s), slots);
	WINDOWS(X)
#undef X
}

void node_windows_fini(struct node_windows *windows)
{
#define X(type, member, ...) type##_fini(&windows->member);
	WINDOWS(X)
#undef X
}

static double memory_used(const struct report *report)
{
	const struct memory *memory = &report->memory;

	if (memory->state != SOURCE_PRESENT ||
		memory->total_bytes == REPORT_UNKNOWN ||
		memory->available_bytes == REPORT_UNKNOWN ||
		memory->available_bytes > memory->total_bytes) {
		return NAN;
	}
	return (double)(memory->total_bytes - memory->available_bytes);
}

void node_windows_clear(struct node_windows *windows)
{
#define X(type, member, ...) type##_clear(&windows->member);
	WINDOWS(X)
#undef X
}

void node_windows_add(struct node_windows *windows, const struct report *before,
	const struct report *after, const struct node_rates *rates)
{
	uint64_t from_us = before->monotonic_us;
	uint64_t to_us = after->monotonic_us;

	window_add(&windows->cores_fast, from_us, to_us, rates->used_cores);
	window_add(&windows->cores_middle, from_us, to_us, rates->used_cores);
	window_add(&windows->cores_slow, from_us, to_us, rates->used_cores);
	window_add(&windows->pressure, from_us, to_us,
		rates->cpu_pressure_some);
	window_add(&windows->memory_used, from_us, to_us, memory_used(after));
	window_add(&windows->memory_full, from_us, to_us,
		rates->memory_pressure_full);
	window_add(&windows->io_full, from_us, to_us, rates->io_pressure_full);
	window_add(&windows->swap_in, from_us, to_us, rates->swap_in_bytes);
	if (after->cpu.online > 0) {
		histogram_window_add(&windows->cores_hour, from_us, to_us,
			rates->used_cores, after->cpu.online);
		histogram_window_add(&windows->cores_day, from_us, to_us,
			rates->used_cores, after->cpu.online);
	}
}

void node_windows_add_minute(struct node_windows *windows, uint64_t at_us,
	const struct rollup_row *minute, double cores)
{
	uint64_t covered_us = (uint64_t)minute->covered_ms * 1000;

	histogram_window_add(&windows->cores_day, at_us,
		at_us +
			(covered_us < 60 * second_us ? covered_us
						     : 60 * second_us),
		minute->figures[ROLLUP_cpu_used_cores].mean, cores);
}

void node_windows_merge(struct node_windows *windows,
	const struct node_windows *others)
{
#define X(type, member, ...) type##_merge(&windows->member, &others->member);
	WINDOWS(X)
#undef X
}

static void fill_minute(struct node_load *out,
	const struct node_windows *windows, uint64_t now_us)
{
	const uint64_t minute_us = 60 * second_us;
	double swap_in = window_mean(&windows->swap_in, now_us, minute_us);

	out->cpu_pressure_some_60s =
		window_mean(&windows->pressure, now_us, minute_us);
	out->memory_pressure_full_60s =
		window_mean(&windows->memory_full, now_us, minute_us);
	out->io_pressure_full_60s =
		window_mean(&windows->io_full, now_us, minute_us);
	out->memory_swap_in_bytes_60s = swap_in >= 1 ? swap_in : (double)NAN;
}

void node_windows_fill(struct node_load *out,
	const struct node_windows *windows, uint64_t now_us)
{
	struct window_figures of;

	out->cpu_used_cores_10s =
		window_mean(&windows->cores_fast, now_us, 10 * second_us);
	of = window_read(&windows->cores_middle, now_us, 300 * second_us);
	out->cpu_used_cores_5m = of.mean;
	out->cpu_stdev_cores_5m = of.stdev;
	of = window_read(&windows->cores_middle, now_us, 900 * second_us);
	out->cpu_used_cores_15m = of.mean;
	out->cpu_stdev_cores_15m = of.stdev;
	of = window_read(&windows->cores_slow, now_us, 3600 * second_us);
	out->cpu_used_cores_1h = of.mean;
	out->cpu_stdev_cores_1h = of.stdev;
	out->cpu_p95_cores_1h = histogram_window_read(&windows->cores_hour,
		now_us, 3600 * second_us, 0.95);
	out->cpu_p95_cores_1d = histogram_window_read(&windows->cores_day,
		now_us, 86400 * second_us, 0.95);
	fill_minute(out, windows, now_us);
	of = window_read(&windows->memory_used, now_us, 900 * second_us);
	out->memory_used_bytes_15m = of.mean;
	out->memory_stdev_bytes_15m = of.stdev;
}
