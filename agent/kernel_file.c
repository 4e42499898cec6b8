#include "agent/kernel_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "agent/scan.h"

enum { NUMBER_MAX = 64 };

void kernel_file_init(struct kernel_file *file, int dir, const char *name)
{
	*file = (struct kernel_file){ .dir = dir, .name = name };
}

void kernel_file_fini(struct kernel_file *file)
{
	if (file != NULL && file->is_open) {
		(void)close(file->fd);
		file->is_open = false;
	}
}

static int open_file(struct kernel_file *file, struct error *err)
{
	if (file->absent > 0) {
		file->absent--;
		return error_set(err, -ENOENT, "'%s' is missing", file->name);
	}
	file->fd = openat(file->dir, file->name, O_RDONLY | O_CLOEXEC);
	if (file->fd < 0) {
		file->absent = errno == ENOENT ? KERNEL_FILE_RETRY - 1 : 0;
		return error_errno(err, "cannot open '%s'", file->name);
	}
	file->is_open = true;
	return 0;
}

static int read_once(struct kernel_file *file, char *out, size_t size,
	struct error *err)
{
	ssize_t len;
	int r = file->is_open ? 0 : open_file(file, err);

	if (r < 0) {
		return r;
	}
	len = pread(file->fd, out, size - 1, 0);
	if (len < 0) {
		return error_errno(err, "cannot read '%s'", file->name);
	}
	out[len] = '\0';
	return (int)len;
}

int kernel_file_read_start(struct kernel_file *file, char *out, size_t size,
	struct error *err)
{
	bool was_open = file->is_open;
	int r = read_once(file, out, size, err);

	if (!was_open || (r != -ENODEV && r != -ESTALE)) {
		return r;
	}
	kernel_file_fini(file);
	r = read_once(file, out, size, err);
	return r == -ENOENT
		? error_set(err, -ENODEV, "'%s' is gone", file->name)
		: r;
}

int kernel_file_read(struct kernel_file *file, char *out, size_t size,
	struct error *err)
{
	int r = kernel_file_read_start(file, out, size, err);

	/* The last number in a full buffer may be cut. */
	return r >= 0 && (size_t)r == size - 1
		? error_set(err, -EFBIG, "'%s' is larger than %zu bytes",
			  file->name, size - 2)
		: r;
}

int kernel_file_number(uint64_t *out, struct kernel_file *file,
	struct error *err)
{
	char text[NUMBER_MAX];
	int r = kernel_file_read(file, text, sizeof(text), err);

	if (r < 0) {
		return r;
	}
	return scan_single(text, out)
		? 0
		: error_set(err, -EINVAL, "'%s' is no number", file->name);
}

int kernel_file_number_at(uint64_t *out, int dir, const char *name,
	struct error *err)
{
	struct kernel_file file;
	int r;

	kernel_file_init(&file, dir, name);
	r = kernel_file_number(out, &file, err);
	kernel_file_fini(&file);
	return r;
}

enum source_state kernel_file_state(const struct kernel_file *file, int r,
	const struct error *why, struct error *err)
{
	if (r >= 0) {
		return SOURCE_PRESENT;
	}
	if (r == -ENOENT || r == -ENODEV) {
		return SOURCE_ABSENT;
	}
	if (r == -EOPNOTSUPP) {
		return SOURCE_DISABLED;
	}
	/* A parser does not know the name of the file. */
	(void)error_set(err, r, "%s%s%s", r == -EBADMSG ? file->name : "",
		r == -EBADMSG ? ": " : "", why->text);
	return SOURCE_ERROR;
}
