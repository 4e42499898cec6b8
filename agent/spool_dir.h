/* The directory of a spool: its lock, its file names and reading its files.
 *
 * The lock admits one process at a time. Files are numbered, and their names
 * sort in the order in which the files were made. */
#pragma once

#include "lib/error.h"
#include "proto/report.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SPOOL_NAME_BYTES = 32 };

struct spool_dir {
	const char *path; /* borrowed */
	int fd, lock;	  /* -1: closed */
};

/* Creates the directory if it is missing. -EBUSY: another process has locked
 * it; else what mkdir(2), open(2) and flock(2) return. Needs spool_dir_close()
 * even after an error. */
must_check int spool_dir_open(struct spool_dir *dir, const char *path,
	struct error *err);
void spool_dir_close(struct spool_dir *dir);

void spool_dir_name(char name[SPOOL_NAME_BYTES], uint64_t number);

/* Calls add with the name of each file that is named like a segment, the oldest
 * first. *next becomes a number above all of them. Fails as opendir(3) and
 * readdir(3) do. */
must_check int spool_dir_find(const struct spool_dir *dir, uint64_t *next,
	void (*add)(void *owner, const char name[SPOOL_NAME_BYTES]),
	void *owner, struct error *err);

/* Reads the run id in a segment's header, and the file's size. -EBADMSG: the
 * file is no segment; else what open(2), fstat(2) and pread(2) return. */
must_check int spool_dir_identify(const struct spool_dir *dir, const char *name,
	uint8_t run_id[REPORT_RUN_ID_BYTES], uint64_t *bytes,
	struct error *err);

/* Creates a file, to append to. Returns the descriptor, which the caller
 * closes, or what open(2) returns. */
must_check int spool_dir_create(const struct spool_dir *dir, const char *name,
	struct error *err);

/* Fails as unlink(2) does; 0 where there is no such file. */
must_check int spool_dir_delete(const struct spool_dir *dir, const char *name,
	struct error *err);

/* Reads size bytes from offset on. Returns how many were read: fewer only at
 * the end of the file, 0 where there is no such file. Else what open(2) and
 * pread(2) return. */
must_check ssize_t spool_dir_read(const struct spool_dir *dir, const char *name,
	uint64_t offset, void *out, size_t size, struct error *err);
