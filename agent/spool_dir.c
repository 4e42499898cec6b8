#include "agent/spool_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/directory.h"
#include "agent/scan.h"
#include "agent/segment.h"
#include "lib/memory.h"

enum { NUMBER_DIGITS = 10, FILES_MAX = 65536 };

int spool_dir_open(struct spool_dir *dir, const char *path, struct error *err)
{
	*dir = (struct spool_dir){ .path = path, .fd = -1, .lock = -1 };
	if (mkdir(path, 0700) < 0 && errno != EEXIST) {
		return error_errno(err, "cannot create '%s'", path);
	}
	dir->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir->fd < 0) {
		return error_errno(err, "cannot open '%s'", path);
	}
	dir->lock =
		openat(dir->fd, "lock", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (dir->lock < 0) {
		return error_errno(err, "cannot write to '%s'", path);
	}
	if (flock(dir->lock, LOCK_EX | LOCK_NB) < 0) {
		return errno == EWOULDBLOCK
			? error_set(err, -EBUSY,
				  "another agent spools into '%s'", path)
			: error_errno(err, "cannot lock '%s'", path);
	}
	return 0;
}

void spool_dir_close(struct spool_dir *dir)
{
	directory_close(dir->lock);
	directory_close(dir->fd);
}

void spool_dir_name(char name[SPOOL_NAME_BYTES], uint64_t number)
{
	(void)snprintf(name, SPOOL_NAME_BYTES, "%0*" PRIu64 ".spool",
		NUMBER_DIGITS, number);
}

/* False: spool_dir_name() does not make such a name. */
static bool number_of(uint64_t *number, const char *name)
{
	struct scan s = { .at = name };
	char made[SPOOL_NAME_BYTES];

	if (!scan_u64(&s, number)) {
		return false;
	}
	spool_dir_name(made, *number);
	return strcmp(made, name) == 0;
}

int spool_dir_create(const struct spool_dir *dir, const char *name,
	struct error *err)
{
	int fd = openat(dir->fd, name,
		O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);

	return fd < 0
		? error_errno(err, "cannot create '%s/%s'", dir->path, name)
		: fd;
}

int spool_dir_delete(const struct spool_dir *dir, const char *name,
	struct error *err)
{
	return unlinkat(dir->fd, name, 0) < 0 && errno != ENOENT
		? error_errno(err, "cannot delete '%s/%s'", dir->path, name)
		: 0;
}

ssize_t spool_dir_read(const struct spool_dir *dir, const char *name,
	uint64_t offset, void *out, size_t size, struct error *err)
{
	scoped_fd int fd =
		openat(dir->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	size_t used = 0;
	ssize_t n = 1;

	if (fd < 0 && errno != ENOENT) {
		return error_errno(err, "cannot open '%s/%s'", dir->path, name);
	}
	while (fd >= 0 && used < size && n > 0) {
		n = pread(fd, (uint8_t *)out + used, size - used,
			(off_t)(offset + used));
		used += n > 0 ? (size_t)n : 0;
	}
	return n < 0 ? error_errno(err, "cannot read '%s/%s'", dir->path, name)
		     : (ssize_t)used;
}

int spool_dir_identify(const struct spool_dir *dir, const char *name,
	uint8_t run_id[REPORT_RUN_ID_BYTES], uint64_t *bytes, struct error *err)
{
	uint8_t header[SEGMENT_HEADER_BYTES];
	struct stat status = { .st_mode = 0 };
	ssize_t len = 0;

	if (fstatat(dir->fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0 &&
		errno != ENOENT) {
		return error_errno(err, "cannot stat '%s/%s'", dir->path, name);
	}
	if (S_ISREG(status.st_mode)) {
		len = spool_dir_read(dir, name, 0, header, sizeof(header), err);
	}
	if (len < 0) {
		return (int)len;
	}
	if (!segment_get_header(run_id, header, (size_t)len)) {
		return error_set(err, -EBADMSG, "'%s/%s' is no spool segment",
			dir->path, name);
	}
	*bytes = (uint64_t)status.st_size;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The numbers of at most FILES_MAX files, in rising order; the caller frees. */
static uint64_t *list(const struct spool_dir *dir, size_t *count,
	struct error *err)
{
	DIR *stream = directory_open(dir->fd, ".", NULL);
	const struct dirent *entry;
	uint64_t *numbers;

	*count = 0;
	if (stream == NULL) {
		(void)error_errno(err, "cannot list '%s'", dir->path);
		return NULL;
	}
	numbers = xcalloc(FILES_MAX, sizeof(*numbers));
	errno = 0;
	while ((entry = readdir(stream)) != NULL && *count < FILES_MAX) {
		*count += number_of(&numbers[*count], entry->d_name);
		errno = 0;
	}
	if (errno != 0) {
		(void)error_errno(err, "cannot list '%s'", dir->path);
		free(take_ptr(numbers));
	} else {
		qsort(numbers, *count, sizeof(*numbers), by_number);
	}
	(void)closedir(stream);
	return numbers;
}

int spool_dir_find(const struct spool_dir *dir, uint64_t *next,
	void (*add)(void *owner, const char name[SPOOL_NAME_BYTES]),
	void *owner, struct error *err)
{
	size_t count;
	scoped_free uint64_t *numbers = list(dir, &count, err);

	if (numbers == NULL) {
		return err->code;
	}
	*next = count == 0 ? 1 : numbers[count - 1] + 1;
	for (size_t i = 0; i < count; i++) {
		char name[SPOOL_NAME_BYTES] = "";

		spool_dir_name(name, numbers[i]);
		add(owner, name);
	}
	return 0;
}
