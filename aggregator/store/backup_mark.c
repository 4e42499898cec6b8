#include "aggregator/store/backup_mark.h"

#include "aggregator/store/db_file.h"
#include "lib/files.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int write_id(int fd, uint32_t id, struct error *err)
{
	const uint8_t bytes[4] = { (uint8_t)(id >> 24), (uint8_t)(id >> 16),
		(uint8_t)(id >> 8), (uint8_t)id };
	ssize_t written =
		pwrite(fd, bytes, sizeof(bytes), DB_FILE_APPLICATION_ID_AT);

	if (written >= 0 && written < (ssize_t)sizeof(bytes)) {
		errno = ENOSPC; /* a short write sets none */
	}
	return written == (ssize_t)sizeof(bytes)
		? 0
		: error_errno(err, "cannot write the header");
}

int backup_mark_set(int fd, struct error *err)
{
	return write_id(fd, BACKUP_MARK_ID, err);
}

/* A file that cannot be read is left to db_file_check(). */
static bool is_marked(const struct db_file *file)
{
	scoped_fd int fd = file_open(AT_FDCWD, file->path, NULL);
	uint32_t id = 0;

	return fd >= 0 && db_file_read_id(&id, fd) && id == BACKUP_MARK_ID;
}

static int sync_folder(const struct db_file *file, struct error *err)
{
	scoped_free char *for_dir = xstrdup(file->path);
	const char *dir = dirname(for_dir);
	scoped_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) != 0
		? error_errno(err, "cannot write the directory '%s'", dir)
		: 0;
}

/* A log that was set aside earlier keeps its name. */
static char *free_name(const struct db_file *file)
{
	for (unsigned n = 1;; n++) {
		char *name =
			xasprintf("%s-wal.before-restore-%u", file->path, n);

		if (access(name, F_OK) != 0) {
			return name;
		}
		free(name);
	}
}

static int set_log_aside(const struct db_file *file, struct error *err)
{
	scoped_free char *log = xasprintf("%s-wal", file->path);
	scoped_free char *index = xasprintf("%s-shm", file->path);
	scoped_free char *to = free_name(file);

	(void)unlink(index);
	if (rename(log, to) == 0) {
		log_warning(
			"backup restored beside a log of another database, "
			"which is set aside",
			log_str("database", file->path),
			log_str("set_aside", to), LOG_END);
	} else if (errno != ENOENT) {
		return error_errno(err, "cannot rename '%s'", log);
	}
	return sync_folder(file, err);
}

static int clear(const struct db_file *file, struct error *err)
{
	scoped_fd int fd = open(file->path, O_WRONLY | O_CLOEXEC);
	int r;

	if (fd < 0) {
		return error_errno(err, "cannot open it for writing");
	}
	r = write_id(fd, DB_FILE_APPLICATION_ID, err);
	if (r == 0 && fsync(fd) != 0) {
		r = error_errno(err, "cannot write the header");
	}
	return r;
}

int backup_mark_take(struct db_file *file, struct error *err)
{
	int r;

	if (!is_marked(file)) {
		return 0;
	}
	r = set_log_aside(file, err);
	if (r == 0 && db_file_is_ours(file)) {
		r = db_file_mark(file, DB_FILE_CLOSED, err);
		file->mark = r == 0 ? DB_FILE_CLOSED : file->mark;
	}
	r = r == 0 ? clear(file, err) : r;
	return r < 0 ? error_wrap(err, r, "cannot restore the backup '%s'",
			       file->path)
		     : 0;
}
