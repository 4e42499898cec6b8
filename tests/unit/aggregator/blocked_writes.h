/* A disk that takes no writes for a while, for tests. */
#pragma once

#include "tests/unit/aggregator/scratch.h"

#include <fcntl.h>

/* Waits for the write lock of the write-ahead log (SQLite's wal.c,
 * WAL_LOCK_OFFSET) and takes it as another process would: SQLite does not share
 * the lock of an open file description. Closing the descriptor releases it. */
static inline int scratch_block_writes(const struct scratch *s)
{
	struct flock lock = { .l_type = F_WRLCK, .l_start = 120, .l_len = 1 };
	scoped_free char *path = xasprintf("%s-shm", s->db);
	int fd = open(path, O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_OFD_SETLKW, &lock), 0);
	return fd;
}
