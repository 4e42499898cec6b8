/* A disk that becomes slow: preloaded into a program, it delays each write at
 * an offset and each sync by the number in the file that SLOW_DISK names. */
#include "tests/support/shared_number.h"

#include <sys/syscall.h>
#include <time.h>

/* The C library's names, without its declarations of them. */
int sync_file(int fd) __asm__("fsync");
int sync_data(int fd) __asm__("fdatasync");
ssize_t write_at(int fd, const void *data, size_t len, off_t at) __asm__(
	"pwrite");
ssize_t write_at64(int fd, const void *data, size_t len, off_t at) __asm__(
	"pwrite64");

static const int64_t *delay_us;

static void wait_for_disk(void)
{
	int64_t us = shared_number(&delay_us, "SLOW_DISK");
	struct timespec wait = { us / 1000000, us % 1000000 * 1000 };

	if (us > 0) {
		(void)nanosleep(&wait, NULL);
	}
}

int sync_file(int fd)
{
	wait_for_disk();
	return (int)syscall(SYS_fsync, fd);
}

int sync_data(int fd)
{
	wait_for_disk();
	return (int)syscall(SYS_fdatasync, fd);
}

ssize_t write_at(int fd, const void *data, size_t len, off_t at)
{
	wait_for_disk();
	return syscall(SYS_pwrite64, fd, data, len, at);
}

ssize_t write_at64(int fd, const void *data, size_t len, off_t at)
{
	return write_at(fd, data, len, at);
}
