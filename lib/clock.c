#include "lib/clock.h"

#include <stdio.h>

static uint64_t read_us(clockid_t id)
{
	struct timespec now = { 0 };

	(void)clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t clock_monotonic_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

uint64_t clock_wall_us(void)
{
	return read_us(CLOCK_REALTIME);
}

uint64_t clock_thread_cpu_us(void)
{
	return read_us(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_cpu_us(clockid_t clock)
{
	return read_us(clock);
}

char *clock_text(char *out, uint64_t wall_us)
{
	time_t seconds = (time_t)(wall_us / 1000000);
	struct tm parts = { 0 };
	size_t len;

	(void)gmtime_r(&seconds, &parts);
	len = strftime(out, CLOCK_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &parts);
	(void)snprintf(out + len, CLOCK_TEXT_MAX - len, ".%06uZ",
		(unsigned)(wall_us % 1000000));
	return out;
}
