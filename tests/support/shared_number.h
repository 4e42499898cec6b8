/* A number that a test sets while a program runs: microseconds as an int64_t in
 * a file, which the environment names. For libraries that are preloaded into
 * the program (tests/support/shared_number.py). */
#pragma once

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The number in the file that `variable` names. *at keeps the mapping, and is
 * NULL at first: other libraries call before a constructor could run. Two
 * threads that do so at once map the same file. */
static inline int64_t shared_number(const int64_t **at, const char *variable)
{
	const int64_t *known = __atomic_load_n(at, __ATOMIC_ACQUIRE);
	const char *name;
	void *map;
	int fd;

	if (known == NULL) {
		name = getenv(variable);
		fd = name == NULL ? -1 : open(name, O_RDONLY | O_CLOEXEC);
		map = mmap(NULL, sizeof(*known), PROT_READ, MAP_SHARED, fd, 0);
		if (map == MAP_FAILED) {
			abort(); /* without the number the test shows nothing */
		}
		(void)close(fd);
		known = map;
		__atomic_store_n(at, known, __ATOMIC_RELEASE);
	}
	return __atomic_load_n(known, __ATOMIC_RELAXED);
}
