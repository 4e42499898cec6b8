#include "lib/files.h"

#include "lib/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int file_open(int dir, const char *name, struct error *err)
{
	int fd =
		openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int r = 0;

	if (fd < 0) {
		return error_errno(err, "cannot open '%s'", name);
	}
	if (fstat(fd, &st) != 0) {
		r = error_errno(err, "cannot stat '%s'", name);
	} else if (!S_ISREG(st.st_mode)) {
		r = error_set(err, -EINVAL, "'%s' is not a regular file", name);
	}
	if (r < 0) {
		(void)close(fd);
		return r;
	}
	return fd;
}

static ssize_t read_some(int fd, void *out, size_t size)
{
	ssize_t len;

	do {
		len = read(fd, out, size);
	} while (len < 0 && errno == EINTR);
	return len;
}

int file_read_at(char *out, size_t size, int dir, const char *name,
	struct error *err)
{
	scoped_fd int fd = file_open(dir, name, err);
	size_t used = 0;

	if (fd < 0) {
		return fd;
	}
	for (;;) {
		ssize_t len = read_some(fd, out + used, size - used);

		if (len < 0) {
			return error_errno(err, "cannot read '%s'", name);
		}
		if (len == 0) {
			break;
		}
		used += (size_t)len;
		if (used == size) {
			return error_set(err, -EFBIG,
				"'%s' is larger than %zu bytes", name,
				size - 1);
		}
	}
	out[used] = '\0';
	return (int)used;
}

static int read_all(struct buffer *out, int fd, const char *path,
	struct error *err)
{
	char chunk[16384];

	for (;;) {
		ssize_t len = read_some(fd, chunk, sizeof(chunk));

		if (len < 0) {
			return error_errno(err, "cannot read '%s'", path);
		}
		if (len == 0) {
			return 0;
		}
		buffer_append(out, chunk, (size_t)len);
		if (out->overflowed) {
			return error_set(err, -EFBIG,
				"'%s' is larger than %zu bytes", path,
				out->max);
		}
	}
}

int file_read(struct buffer *out, const char *path, struct error *err)
{
	scoped_fd int fd = file_open(AT_FDCWD, path, err);

	return fd < 0 ? fd : read_all(out, fd, path, err);
}

int file_read_input(struct buffer *out, const char *path, struct error *err)
{
	const char *name = strcmp(path, "-") == 0 ? "/dev/stdin" : path;
	scoped_fd int fd = open(name, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? error_errno(err, "cannot open '%s'", name)
		      : read_all(out, fd, name, err);
}
