/* A machine whose wall clock jumps, without root: preloaded into a program, it
 * adds the contents of the file named by CLOCK_SHIFT, microseconds as an
 * int64_t, to each reading of the wall clock. The monotonic clock and the
 * kernel's own waits stay as they are, as with settimeofday(). */
#include "tests/support/shared_number.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
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

static const int64_t *shift_us;

static int64_t read_shift(void)
{
	return shared_number(&shift_us, "CLOCK_SHIFT");
}

int read_clock(clockid_t id, struct timespec *out)
{
	int r = (int)syscall(SYS_clock_gettime, id, out);
	int64_t ns;

	if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
		ns = (int64_t)out->tv_sec * 1000000000 + out->tv_nsec +
			read_shift() * 1000;
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

/* nng waits for times of the wall clock. A clock that is behind gives times
 * that have passed for the kernel, and the thread would never sleep. */
int wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex,
	const struct timespec *deadline)
{
	bool is_wall_clock = deadline->tv_sec > BOOTED_AT_MOST_S;
	struct timespec end = *deadline;

	if (is_wall_clock && read_shift() < 0) {
		end.tv_sec -= read_shift() / 1000000;
	}
	return pthread_cond_clockwait(cond, mutex,
		is_wall_clock ? CLOCK_REALTIME : CLOCK_MONOTONIC, &end);
}
