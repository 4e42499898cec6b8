/* The agent's parsers of kernel text. The first byte picks the parser, so that
 * one corpus serves them all. */
#include "agent/cgroup.h"
#include "agent/cpu.h"
#include "agent/hugepages.h"
#include "agent/meminfo.h"
#include "agent/numa.h"
#include "agent/psi.h"
#include "agent/scan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse_cpu(const char *text)
{
	struct cpu_totals cpu = { 0 };

	if (cpu_parse_stat(&cpu, text, 100, NULL) == 0) {
		assert(cpu.online > 0);
	}
	assert(cpu_count_list(text) <= 65536);
}

static void parse_psi(const char *text)
{
	struct psi psi = { 0 };

	if (psi_parse(&psi, text, false, NULL) == 0) {
		assert(psi.some_us != REPORT_UNKNOWN);
	}
}

static void parse_irq(const char *text)
{
	struct psi psi = { 0 };

	if (psi_parse(&psi, text, true, NULL) == 0) {
		assert(psi.full_us != REPORT_UNKNOWN);
	}
}

static void parse_numa(const char *text)
{
	uint64_t bytes = 1;

	if (numa_parse_memory(&bytes, text)) {
		assert(bytes % 1024 == 0);
	} else {
		assert(bytes == 1);
	}
}

static void parse_memory(const char *text)
{
	struct memory memory = { 0 };
	uint64_t swap_in = 0;

	if (meminfo_parse_vmstat(&swap_in, text, NULL) < 0) {
		assert(swap_in == 0);
	}
	if (meminfo_parse(&memory, text, NULL) == 0) {
		assert(memory.total_bytes != REPORT_UNKNOWN);
	}
}

static void parse_load(const char *text)
{
	struct report report;

	report_init(&report);
	if (cpu_parse_loadavg(&report, text, NULL) == 0) {
		assert(report.load1 >= 0 && report.load15 >= 0);
	}
}

static void parse_keyed(const char *text)
{
	uint64_t usage = 0;
	uint64_t throttled = 0;
	uint64_t single = 0;
	const struct scan_field want[] = {
		{ "usage_usec", &usage },
		{ "throttled_usec", &throttled },
	};

	(void)scan_keyed(text, want, count_of(want));
	(void)scan_single(text, &single);
}

static void parse_name(const char *text)
{
	char uid[REPORT_UID_MAX] = "";
	uint64_t size_bytes = 0;

	if (cgroup_parse_pod(uid, text)) {
		assert(strlen(uid) == 36 || strlen(uid) == 32);
	}
	(void)cgroup_is_kubepods(text);
	if (hugepages_parse_name(&size_bytes, text)) {
		assert(size_bytes >= 1024);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const parsers[])(const char *) = { parse_cpu, parse_psi,
		parse_memory, parse_load, parse_keyed, parse_name, parse_irq,
		parse_numa };
	char *text;

	if (size == 0) {
		return 0;
	}
	text = xstrndup((const char *)data + 1, size - 1);
	parsers[data[0] % count_of(parsers)](text);
	free(text);
	return 0;
}
