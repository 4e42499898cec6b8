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

#include "agent/scan.h"
#include "agent/segment.h"
#include "lib/log.h"
#include "lib/memory.h"

enum { NUMBER_DIGITS = 10, FILES_MAX = 65536 };

int spool_dir_open(struct spool_dir *dir, const char *path, struct error *err)
{
	dir->path = path;
	if (mkdir(path, 0700) < 0 && errno != EEXIST) {
		return error_errno(err, "cannot make '%s'", path);
	}
	dir->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir->fd < 0) {
		return error_errno(err, "cannot open '%s'", path);
	}
	dir->lock =
		openat(dir->fd, "lock", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (dir->lock < 0) {
		return error_errno(err, "cannot write into '%s'", path);
	}
	if (flock(dir->lock, LOCK_EX | LOCK_NB) < 0) {
		return error_set(err, -EBUSY, "another agent spools into '%s'",
			path);
	}
	return 0;
}

void spool_dir_close(struct spool_dir *dir)
{
	if (dir->lock >= 0) {
		(void)close(dir->lock);
	}
	if (dir->fd >= 0) {
		(void)close(dir->fd);
	}
	*dir = (struct spool_dir)SPOOL_DIR_NONE;
}

void spool_dir_name(char name[SPOOL_NAME_BYTES], uint64_t number)
{
	(void)snprintf(name, SPOOL_NAME_BYTES, "%0*" PRIu64 ".spool",
		NUMBER_DIGITS, number);
}

/* Only names that spool_dir_name() would make of the number. */
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

static bool read_head(struct spool_found *found, int dir)
{
	uint8_t head[SEGMENT_HEADER_BYTES];
	int fd = openat(dir, found->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;
	bool ok = fd >= 0 && fstat(fd, &status) == 0 &&
		S_ISREG(status.st_mode) &&
		pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
		segment_get_header(found->run_id, head, sizeof(head));

	if (ok) {
		found->bytes = (uint64_t)status.st_size;
	}
	if (fd >= 0) {
		(void)close(fd);
	}
	return ok;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* At most FILES_MAX; the caller frees. */
static uint64_t *list(const struct spool_dir *dir, size_t *count,
	struct error *err)
{
	int fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	uint64_t *numbers;

	*count = 0;
	if (stream == NULL) {
		(void)error_errno(err, "cannot read '%s'", dir->path);
		return NULL;
	}
	numbers = xcalloc(FILES_MAX, sizeof(*numbers));
	while ((entry = readdir(stream)) != NULL && *count < FILES_MAX) {
		if (number_of(&numbers[*count], entry->d_name)) {
			++*count;
		}
	}
	(void)closedir(stream);
	qsort(numbers, *count, sizeof(*numbers), by_number);
	return numbers;
}

int spool_dir_find(const struct spool_dir *dir, uint64_t *next,
	void (*take)(void *owner, const struct spool_found *found), void *owner,
	struct error *err)
{
	size_t count;
	scoped_free uint64_t *numbers = list(dir, &count, err);

	if (numbers == NULL) {
		return err->code;
	}
	*next = count == 0 ? 1 : numbers[count - 1] + 1;
	for (size_t i = 0; i < count; i++) {
		struct spool_found found = { .bytes = 0 };

		spool_dir_name(found.name, numbers[i]);
		if (read_head(&found, dir->fd)) {
			take(owner, &found);
		} else {
			log_warning("no spool file of ours; it is left alone",
				log_str("dir", dir->path),
				log_str("name", found.name), LOG_END);
		}
	}
	return 0;
}
