#include "agent/cpu.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "agent/scan.h"
#include "lib/memory.h"

enum { US_PER_SECOND = 1000000, LOADAVG_MAX = 256 };

/* A number that is too large is unknown. */
static bool scan_ticks(struct scan *s, uint64_t *out_us,
	uint64_t ticks_per_second)
{
	const char *begin;
	uint64_t us = 0;
	bool fits;

	scan_blanks(s);
	begin = s->at;
	fits = scan_u64(s, &us) &&
		!__builtin_mul_overflow(us, US_PER_SECOND, &us);
	*out_us = fits ? us / ticks_per_second : REPORT_UNKNOWN;
	s->at = begin + strspn(begin, "0123456789");
	return s->at > begin;
}

static uint32_t count_cpu_lines(struct scan *s)
{
	uint32_t count = 0;
	uint64_t number;

	while (scan_text(s, "cpu") && scan_u64(s, &number)) {
		count++;
		scan_line(s);
	}
	return count;
}

/* The order of proc(5). guest and guest_nice, which follow, are already part of
 * user and nice. */
static const size_t modes[] = {
	offsetof(struct cpu_totals, user_us),
	offsetof(struct cpu_totals, nice_us),
	offsetof(struct cpu_totals, system_us),
	offsetof(struct cpu_totals, idle_us),
	offsetof(struct cpu_totals, iowait_us),
	offsetof(struct cpu_totals, irq_us),
	offsetof(struct cpu_totals, softirq_us),
	offsetof(struct cpu_totals, steal_us),
};

/* Modes that every kernel has. */
enum { MODES_MIN = 4 };

static uint64_t *mode_at(struct cpu_totals *cpu, size_t index)
{
	return (uint64_t *)(void *)((char *)cpu + modes[index]);
}

int cpu_parse_stat(struct cpu_totals *out, const char *text,
	uint64_t ticks_per_second, struct error *err)
{
	struct scan s = { .at = text };
	struct cpu_totals cpu = {
		.state = SOURCE_PRESENT,
		.possible = out->possible,
	};

	if (!scan_text(&s, "cpu ")) {
		return error_set(err, -EBADMSG, "no 'cpu' line");
	}
	for (size_t i = 0; i < count_of(modes); i++) {
		scan_blanks(&s);
		if (i >= MODES_MIN && *s.at == '\n') {
			*mode_at(&cpu, i) = REPORT_UNKNOWN;
		} else if (!scan_ticks(&s, mode_at(&cpu, i),
				   ticks_per_second)) {
			return error_set(err, -EBADMSG, "bad 'cpu' line");
		}
	}
	scan_line(&s);
	cpu.online = count_cpu_lines(&s);
	if (cpu.online == 0) {
		return error_set(err, -EBADMSG, "no 'cpu0' line");
	}
	if (s.at[-1] != '\n') {
		return error_set(err, -EBADMSG, "cut at CPU %" PRIu32,
			cpu.online - 1);
	}
	*out = cpu;
	return 0;
}

static bool has_restarted(struct cpu_totals *now, struct cpu_totals *last)
{
	for (size_t i = 0; i < count_of(modes); i++) {
		uint64_t now_us = *mode_at(now, i);
		uint64_t last_us = *mode_at(last, i);

		if (now_us != REPORT_UNKNOWN && last_us != REPORT_UNKNOWN &&
			now_us < last_us && last_us - now_us > CPU_RESTART_US) {
			return true;
		}
	}
	return false;
}

void cpu_keep_monotonic(struct cpu_totals *now, struct cpu_totals *last)
{
	bool restarted = has_restarted(now, last);

	for (size_t i = 0; i < count_of(modes); i++) {
		uint64_t *new = mode_at(now, i);
		uint64_t *old = mode_at(last, i);

		if (*new == REPORT_UNKNOWN) {
			continue;
		}
		if (!restarted && *old != REPORT_UNKNOWN && *new < *old) {
			*new = *old;
		}
		*old = *new;
	}
}

uint32_t cpu_count_list(const char *text)
{
	/* No kernel supports more. */
	enum { CPUS_MAX = 65536 };
	struct scan s = { .at = text };
	uint64_t count = 0;

	do {
		uint64_t first;
		uint64_t last;

		if (!scan_u64(&s, &first)) {
			return 0;
		}
		last = first;
		if (scan_text(&s, "-") && !scan_u64(&s, &last)) {
			return 0;
		}
		if (last < first || last >= CPUS_MAX) {
			return 0;
		}
		count += last - first + 1;
	} while (scan_text(&s, ","));
	(void)scan_text(&s, "\n");
	return scan_end(&s) && count <= CPUS_MAX ? (uint32_t)count : 0;
}

void cpu_read(struct cpu_totals *out, struct kernel_file *file, char *scratch,
	struct error *err)
{
	struct error why = { 0 };
	int r = kernel_file_read_start(file, scratch, CPU_STAT_MAX, &why);

	if (r >= 0) {
		r = cpu_parse_stat(out, scratch, (uint64_t)sysconf(_SC_CLK_TCK),
			&why);
	}
	out->state = kernel_file_state(file, r, &why, err);
}

int cpu_parse_loadavg(struct report *out, const char *text, struct error *err)
{
	struct scan s = { .at = text };
	double loads[3];

	for (size_t i = 0; i < count_of(loads); i++) {
		if (!scan_decimal(&s, &loads[i]) || !scan_text(&s, " ")) {
			return error_set(err, -EBADMSG,
				"no three load averages");
		}
	}
	out->load1 = loads[0];
	out->load5 = loads[1];
	out->load15 = loads[2];
	return 0;
}

void cpu_read_loadavg(struct report *out, struct kernel_file *file,
	struct error *err)
{
	char text[LOADAVG_MAX];
	struct error why = { 0 };
	int r = kernel_file_read(file, text, sizeof(text), &why);

	if (r >= 0) {
		r = cpu_parse_loadavg(out, text, &why);
	}
	(void)kernel_file_state(file, r, &why, err);
}
