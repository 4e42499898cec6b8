/* A kernel file that is kept open and read again from its start.
 *
 * Reading /proc, /sys and cgroup files through a kept descriptor costs less
 * than half of opening them each time. The file is opened when it is first
 * read, below a directory the caller keeps open; a descriptor whose cgroup was
 * removed (ENODEV) or whose file system went away (ESTALE) is opened anew
 * once. */
#pragma once

#include "lib/error.h"
#include "proto/report.h"

#include <stdbool.h>
#include <stddef.h>

struct kept_file {
	int dir;	  /* borrowed */
	const char *name; /* below dir; borrowed */
	int fd;
	bool is_open;
	unsigned absent; /* reads until a missing file is looked for again */
};

/* A file that was not there is looked for in every tenth read only: with psi=0
 * or without a controller most files of most pods are missing for good. */
enum { KEPT_FILE_RETRY = 10 };

/* Opens nothing yet. dir and name outlive the file. */
void kept_file_init(struct kept_file *file, int dir, const char *name);
void kept_file_fini(struct kept_file *file); /* NULL and zeroed are fine */

/* Reads the whole file into out, NUL-terminated. Returns the length.
 * -ENODEV: it was there and is gone. -EFBIG: it holds size - 1 bytes or more.
 * Else what open(2) or read(2) say: -ENOENT, -EACCES, -EOPNOTSUPP. */
must_check int kept_file_read(struct kept_file *file, char *out, size_t size,
	struct error *err);

/* What is to be said of a source after reading and parsing it: r is what the
 * one or the other returned. present (r >= 0), absent (-ENOENT, -ENODEV),
 * disabled (-EOPNOTSUPP), else error; only then *why goes to *err. */
enum source_state kept_file_settle(const struct kept_file *file, int r,
	const struct error *why, struct error *err);
