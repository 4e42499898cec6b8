/* CPU time, user and system, in microseconds. */
#pragma once

#include <sys/resource.h>

/* who: RUSAGE_SELF, all threads, or RUSAGE_THREAD. */
static inline double cpu_us(int who)
{
	struct rusage usage;

	(void)getrusage(who, &usage); /* cannot fail for these */
	return (double)usage.ru_utime.tv_sec * 1e6 +
		(double)usage.ru_utime.tv_usec +
		(double)usage.ru_stime.tv_sec * 1e6 +
		(double)usage.ru_stime.tv_usec;
}
