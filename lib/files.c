#include "lib/files.h"

#include "lib/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

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
	scoped_fd int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	size_t used = 0;

	if (fd < 0) {
		return error_errno(err, "cannot open '%s'", name);
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

int file_read(struct buffer *out, const char *path, struct error *err)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	char chunk[16384];

	if (fd < 0) {
		return error_errno(err, "cannot open '%s'", path);
	}
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
