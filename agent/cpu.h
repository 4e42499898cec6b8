/* CPU time of a node: /proc/stat, and the lists in /sys/devices/system/cpu.
 *
 * All functions but cpu_read() are pure. */
#pragma once

#include "agent/kernel_file.h"
#include "lib/error.h"
#include "proto/report.h"

#include <stdint.h>

enum {
	/* 2,000 CPUs and 30,000 interrupts: more than Linux has. */
	CPU_STAT_MAX = 256 << 10,
};

/* Reads /proc/stat's text: totals by mode, and as many CPUs online as there
 * are cpuN lines. ticks_per_second is sysconf(_SC_CLK_TCK). Modes an old kernel
 * does not count stay unknown; out->possible is left alone.
 * -EBADMSG: not the kernel's format. */
must_check int cpu_parse_stat(struct cpu_totals *out, const char *text,
	uint64_t ticks_per_second, struct error *err);

/* Totals only grow, but the kernel's idle and iowait may go back a little, when
 * a CPU is asked while it wakes up (proc(5): "iowait ... may decrease"). What is
 * below the last known value becomes that value, and last what is known now. */
void cpu_hold_forward(struct cpu_totals *now, struct cpu_totals *last);

/* Counts the CPUs in a list such as "0-3,8" (a file of cpumask's). 0 if the
 * text is none. */
uint32_t cpu_count_list(const char *text);

/* Reads /proc/stat into out, but for out->possible. scratch holds CPU_STAT_MAX
 * bytes. err is set only if out->state becomes error. */
void cpu_read(struct cpu_totals *out, struct kept_file *file, char *scratch,
	struct error *err);
