/* Measures the CPU time that one report of this machine costs the agent: the
 * agent reads and packs it, and does not send it. */
#include "agent/sampler.h"

#include "lib/buffer.h"
#include "lib/clock.h"
#include "proto/wire.h"
#include "tests/bench/cpu.h"

#include <stdio.h>

enum { SAMPLES = 2000, REPORT_BYTES = 1 << 20 };

static void sample_and_pack(struct sampler *sampler, struct buffer *packed)
{
	struct report report;

	report_init(&report);
	sampler_read(&report, sampler, clock_monotonic_us());
	buffer_clear(packed);
	wire_pack_report(packed, &report);
	report_fini(&report);
}

int main(void)
{
	const struct sampler_roots roots = { "/proc", "/sys",
		"/sys/fs/cgroup" };
	scoped_buffer struct buffer packed = BUFFER_MAX(REPORT_BYTES);
	struct sampler *sampler = NULL;
	struct error err;
	double start;

	if (sampler_new(&sampler, &roots, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	sample_and_pack(sampler, &packed);
	start = cpu_us(RUSAGE_SELF);
	for (int i = 0; i < SAMPLES; i++) {
		sample_and_pack(sampler, &packed);
	}
	(void)printf(
		"agent: read and pack one report of this machine: "
		"%.1f us of CPU, %zu bytes\n",
		(cpu_us(RUSAGE_SELF) - start) / SAMPLES, packed.len);
	sampler_free(sampler);
	return 0;
}
