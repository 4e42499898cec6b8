/* CPU time of a node: /proc/stat, and the lists in /sys/devices/system/cpu; and
 * its load average, /proc/loadavg, which is for people: no decision uses it.
 *
 * All functions except cpu_read() and cpu_read_loadavg() are pure. */
#pragma once

#include "agent/kernel_file.h"
#include "lib/error.h"
#include "proto/report.h"

#include <stdint.h>

enum {
	/* The lines of 2,000 CPUs. The counts of interrupts, which follow, may
	 * be longer, and are cut. */
	CPU_STAT_MAX = 256 << 10,
};

/* Parses the text of /proc/stat: the totals of each mode, and one online CPU
 * per cpuN line. ticks_per_second is sysconf(_SC_CLK_TCK). Modes that an old
 * kernel does not count, or that are too large, stay unknown; out->possible is
 * not changed. -EBADMSG: not the kernel's format, or cut within the lines of
 * CPUs. */
must_check int cpu_parse_stat(struct cpu_totals *out, const char *text,
	uint64_t ticks_per_second, struct error *err);

/* A total that falls by more than this began again: the node is a VM and was
 * live-migrated. The limit is that of node_exporter (jumpBackSeconds in
 * collector/cpu_linux.go). */
#define CPU_RESTART_US UINT64_C(3000000)

/* Totals must not decrease, but the kernel's idle, iowait and steal may
 * decrease a little if they are read while a CPU wakes up (proc(5): "iowait ...
 * may decrease"). Raises each value of now to that of last, unless one began
 * again: then all stay. Copies the known values to last. */
void cpu_keep_monotonic(struct cpu_totals *now, struct cpu_totals *last);

/* Counts the CPUs in a list such as "0-3,8", the format of a cpumask file. 0 if
 * the text is no such list. */
uint32_t cpu_count_list(const char *text);

/* Reads /proc/stat into out, except for out->possible. scratch has CPU_STAT_MAX
 * bytes. err is set only if out->state becomes error. */
void cpu_read(struct cpu_totals *out, struct kernel_file *file, char *scratch,
	struct error *err);

/* Parses the text of /proc/loadavg into out->load1, load5 and load15.
 * -EBADMSG: not the kernel's format; out is untouched. */
must_check int cpu_parse_loadavg(struct report *out, const char *text,
	struct error *err);

/* Reads the file. Without the file the loads stay unknown; err is set if the
 * file cannot be read or parsed. */
void cpu_read_loadavg(struct report *out, struct kernel_file *file,
	struct error *err);
