/* A disk that takes no writes for as long as the test wants. For a test program
 * with WRAP_test_x = sqlite3_busy_timeout in the Makefile. */
#pragma once

#include "tests/unit/aggregator/scratch.h"

#include <fcntl.h>
#include <sqlite3.h>

int __real_sqlite3_busy_timeout(struct sqlite3 *db, int ms);
int __wrap_sqlite3_busy_timeout(struct sqlite3 *db, int ms);

/* Nobody gives up meanwhile. */
int __wrap_sqlite3_busy_timeout(struct sqlite3 *db, int ms)
{
	(void)ms;
	return __real_sqlite3_busy_timeout(db, PATIENCE_S * 1000);
}

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
