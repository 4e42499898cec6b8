#include "agent/kernel_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void kept_file_init(struct kept_file *file, int dir, const char *name)
{
	*file = (struct kept_file){ .dir = dir, .name = name };
}

void kept_file_fini(struct kept_file *file)
{
	if (file != NULL && file->is_open) {
		(void)close(file->fd);
		file->is_open = false;
	}
}

static int open_it(struct kept_file *file, struct error *err)
{
	if (file->absent > 0) {
		file->absent--;
		return error_set(err, -ENOENT, "'%s' is missing", file->name);
	}
	file->fd = openat(file->dir, file->name, O_RDONLY | O_CLOEXEC);
	if (file->fd < 0) {
		file->absent = errno == ENOENT ? KEPT_FILE_RETRY - 1 : 0;
		return error_errno(err, "cannot open '%s'", file->name);
	}
	file->is_open = true;
	return 0;
}

static int read_again(struct kept_file *file, char *out, size_t size,
	struct error *err)
{
	ssize_t len;
	int r = file->is_open ? 0 : open_it(file, err);

	if (r < 0) {
		return r;
	}
	len = pread(file->fd, out, size - 1, 0);
	if (len < 0) {
		return error_errno(err, "cannot read '%s'", file->name);
	}
	/* A full buffer may hide a cut number: never parse one. */
	if ((size_t)len == size - 1) {
		return error_set(err, -EFBIG, "'%s' holds more than %zu bytes",
			file->name, size - 2);
	}
	out[len] = '\0';
	return (int)len;
}

int kept_file_read(struct kept_file *file, char *out, size_t size,
	struct error *err)
{
	bool was_open = file->is_open;
	int r = read_again(file, out, size, err);

	if (!was_open || (r != -ENODEV && r != -ESTALE)) {
		return r;
	}
	kept_file_fini(file);
	r = read_again(file, out, size, err);
	return r == -ENOENT
		? error_set(err, -ENODEV, "'%s' is gone", file->name)
		: r;
}

enum source_state kept_file_settle(const struct kept_file *file, int r,
	const struct error *why, struct error *err)
{
	switch (r) {
	case -ENOENT:
	case -ENODEV:
		return SOURCE_ABSENT;
	case -EOPNOTSUPP:
		return SOURCE_DISABLED;
	case -EBADMSG:
		/* A parser does not know the name of what it parsed. */
		(void)error_set(err, r, "%s: %s", file->name, why->text);
		return SOURCE_ERROR;
	default:
		break;
	}
	if (r >= 0) {
		return SOURCE_PRESENT;
	}
	if (err != NULL) {
		*err = *why;
	}
	return SOURCE_ERROR;
}
