/* The only clocks. All other code takes a time as an argument. */
#pragma once

#include <stdint.h>
#include <time.h>

/* Microseconds since an arbitrary point; never goes back. For ages and
 * intervals. */
uint64_t clock_monotonic_us(void);

/* Microseconds since 1970. For people and for storage keys; never compared
 * across machines. */
uint64_t clock_wall_us(void);

/* Microseconds of CPU time of the calling thread, user and system. */
uint64_t clock_thread_cpu_us(void);

/* The same of the thread that has this clock (pthread_getcpuclockid(3)) and has
 * not ended. */
uint64_t clock_cpu_us(clockid_t clock);

enum { CLOCK_TEXT_MAX = 32 };

/* Writes RFC 3339 in UTC with microseconds ("2026-01-02T03:04:05.678901Z")
 * into out, which holds CLOCK_TEXT_MAX bytes. Returns out. */
char *clock_text(char *out, uint64_t wall_us);
