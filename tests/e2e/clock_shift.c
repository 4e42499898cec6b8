/* A machine whose wall clock jumps, without root: preloaded into a program, it
 * adds the contents of the file named by CLOCK_SHIFT, microseconds as an
 * int64_t, to each reading of the wall clock, and waits for times of it end by
 * it. The monotonic clock stays as it is, as with settimeofday(), unless a test
 * that waits for a long timeout names a second file with MONOTONIC_SHIFT. */
#include "tests/support/shared_number.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* The C library's names, without its declarations of them. */
int read_clock(clockid_t id, struct timespec *out) __asm__("clock_gettime");
int read_day(struct timeval *out, void *zone) __asm__("gettimeofday");
time_t read_seconds(time_t *out) __asm__("time");
int wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex,
	const struct timespec *deadline) __asm__("pthread_cond_timedwait");

/* Times of the monotonic clock are below this, those of the wall clock not. */
#define BOOTED_AT_MOST_S 1000000000

/* How often a wait looks at the shifted clock. */
#define SLICE_NS 50000000

static const int64_t *wall_shift_us, *monotonic_shift_us;

static int64_t nanoseconds(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static int64_t read_shift(clockid_t id)
{
	switch (id) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		return shared_number(&wall_shift_us, "CLOCK_SHIFT");
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_COARSE:
		return getenv("MONOTONIC_SHIFT") == NULL
			? 0
			: shared_number(&monotonic_shift_us, "MONOTONIC_SHIFT");
	default:
		return 0;
	}
}

int read_clock(clockid_t id, struct timespec *out)
{
	int r = (int)syscall(SYS_clock_gettime, id, out);
	int64_t shift_us = read_shift(id);
	int64_t ns;

	if (r == 0 && shift_us != 0) {
		ns = nanoseconds(out) + shift_us * 1000;
		out->tv_sec = ns / 1000000000;
		out->tv_nsec = ns % 1000000000;
	}
	return r;
}

int read_day(struct timeval *out, void *zone)
{
	struct timespec now;
	int r = read_clock(CLOCK_REALTIME, &now);

	(void)zone;
	out->tv_sec = now.tv_sec;
	out->tv_usec = now.tv_nsec / 1000;
	return r;
}

time_t read_seconds(time_t *out)
{
	struct timespec now;

	(void)read_clock(CLOCK_REALTIME, &now);
	if (out != NULL) {
		*out = now.tv_sec;
	}
	return now.tv_sec;
}

static int wait_for(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t ns)
{
	struct timespec end;

	(void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &end);
	ns += nanoseconds(&end);
	end.tv_sec = ns / 1000000000;
	end.tv_nsec = ns % 1000000000;
	return pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &end);
}

/* nng waits for times of the wall clock, and the kernel ends such a wait when
 * the clock is set beyond its end. So the shifted clock is read again and
 * again. */
int wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex,
	const struct timespec *deadline)
{
	bool is_wall_clock = deadline->tv_sec > BOOTED_AT_MOST_S;
	clockid_t id = is_wall_clock ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	int64_t end_ns = nanoseconds(deadline);
	int r = ETIMEDOUT;

	while (r == ETIMEDOUT) {
		struct timespec now;
		int64_t left_ns;

		(void)read_clock(id, &now);
		left_ns = end_ns - nanoseconds(&now);
		if (left_ns <= 0) {
			return ETIMEDOUT;
		}
		r = wait_for(cond, mutex,
			left_ns < SLICE_NS ? left_ns : SLICE_NS);
	}
	return r;
}
