#include "agent/cpu.h"

#include <errno.h>
#include <unistd.h>

#include "agent/scan.h"
#include "lib/memory.h"

enum { US_PER_SECOND = 1000000 };

static bool scan_ticks(struct scan *s, uint64_t *out_us,
	uint64_t ticks_per_second)
{
	uint64_t ticks;
	uint64_t us;

	scan_blanks(s);
	if (!scan_u64(s, &ticks) ||
		__builtin_mul_overflow(ticks, US_PER_SECOND, &us)) {
		return false;
	}
	*out_us = us / ticks_per_second;
	return true;
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

int cpu_parse_stat(struct cpu_totals *out, const char *text,
	uint64_t ticks_per_second, struct error *err)
{
	struct scan s = { .at = text };
	struct cpu_totals cpu = {
		.state = SOURCE_PRESENT,
		.possible = out->possible,
		.iowait_us = REPORT_UNKNOWN,
		.irq_us = REPORT_UNKNOWN,
		.softirq_us = REPORT_UNKNOWN,
		.steal_us = REPORT_UNKNOWN,
	};
	/* proc(5): in this order; guest and guest_nice, which come behind
	 * them, are inside user and nice already. */
	uint64_t *const modes[] = { &cpu.user_us, &cpu.nice_us, &cpu.system_us,
		&cpu.idle_us, &cpu.iowait_us, &cpu.irq_us, &cpu.softirq_us,
		&cpu.steal_us };
	enum { MODES_ALWAYS = 4 };

	if (!scan_text(&s, "cpu ")) {
		return error_set(err, -EBADMSG, "no 'cpu' line");
	}
	for (size_t i = 0; i < count_of(modes); i++) {
		scan_blanks(&s);
		if (i >= MODES_ALWAYS && *s.at == '\n') {
			break;
		}
		if (!scan_ticks(&s, modes[i], ticks_per_second)) {
			return error_set(err, -EBADMSG, "bad 'cpu' line");
		}
	}
	scan_line(&s);
	cpu.online = count_cpu_lines(&s);
	if (cpu.online == 0) {
		return error_set(err, -EBADMSG, "no 'cpu0' line");
	}
	*out = cpu;
	return 0;
}

void cpu_hold_forward(struct cpu_totals *now, struct cpu_totals *last)
{
	uint64_t *const pairs[][2] = {
		{ &now->user_us, &last->user_us },
		{ &now->nice_us, &last->nice_us },
		{ &now->system_us, &last->system_us },
		{ &now->idle_us, &last->idle_us },
		{ &now->iowait_us, &last->iowait_us },
		{ &now->irq_us, &last->irq_us },
		{ &now->softirq_us, &last->softirq_us },
		{ &now->steal_us, &last->steal_us },
	};

	for (size_t i = 0; i < count_of(pairs); i++) {
		uint64_t *new = pairs[i][0];
		uint64_t *old = pairs[i][1];

		if (*new == REPORT_UNKNOWN) {
			continue;
		}
		if (*old != REPORT_UNKNOWN && *new < *old) {
			*new = *old;
		}
		*old = *new;
	}
}

uint32_t cpu_count_list(const char *text)
{
	/* What no kernel is built for is a mistake in the text. */
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

void cpu_read(struct cpu_totals *out, struct kept_file *file, char *scratch,
	struct error *err)
{
	struct error why = { 0 };
	int r = kept_file_read(file, scratch, CPU_STAT_MAX, &why);

	if (r >= 0) {
		r = cpu_parse_stat(out, scratch, (uint64_t)sysconf(_SC_CLK_TCK),
			&why);
	}
	out->state = kept_file_settle(file, r, &why, err);
}
