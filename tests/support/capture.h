/* Keeps what is printed while a test runs code of a program. */
#pragma once

#include <stddef.h>

struct capture {
	int fd, memory, before;
};

/* fd: STDOUT_FILENO or STDERR_FILENO; it goes to a file in memory now. */
void capture_begin(struct capture *capture, int fd);

/* The descriptor is as it was, and text is what was printed, cut off at
 * size - 1 bytes. */
void capture_end(struct capture *capture, char *text, size_t size);
