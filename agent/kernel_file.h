/* A file in /proc, /sys or a cgroup that is read again and again.
 *
 * Reading through a descriptor that stays open costs less than half of opening
 * the file each time. The file is opened at the first read, below a directory
 * that the caller keeps open. A descriptor whose cgroup was removed (ENODEV) or
 * whose file system was unmounted (ESTALE) is opened again once. */
#pragma once

#include "lib/error.h"
#include "proto/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_file {
	int dir;	  /* borrowed */
	const char *name; /* below dir; borrowed */
	int fd;
	bool is_open;
	unsigned absent; /* reads until a missing file is opened again */
};

/* A missing file is opened at every tenth read only: with psi=0 or without a
 * controller most files of most pods never appear. */
enum { KERNEL_FILE_RETRY = 10 };

/* Opens nothing yet. dir and name outlive the file. */
void kernel_file_init(struct kernel_file *file, int dir, const char *name);
void kernel_file_fini(struct kernel_file *file); /* NULL and zeroed are fine */

/* Reads the whole file into out, NUL-terminated. Returns the length.
 * -ENODEV: the file existed and is gone. -EFBIG: it has size - 1 bytes or more.
 * Else what open(2) or read(2) return: -ENOENT, -EACCES, -EOPNOTSUPP. */
must_check int kernel_file_read(struct kernel_file *file, char *out,
	size_t size, struct error *err);

/* The same for a file of which the start is enough: at most size - 1 bytes. */
must_check int kernel_file_read_start(struct kernel_file *file, char *out,
	size_t size, struct error *err);

/* Reads a file that holds one number. Fails as kernel_file_read() does;
 * -EINVAL: the file holds something else. */
must_check int kernel_file_number(uint64_t *out, struct kernel_file *file,
	struct error *err);

/* The same for a file that is opened for this one read. */
must_check int kernel_file_number_at(uint64_t *out, int dir, const char *name,
	struct error *err);

/* The state to report for a file: r and why are the result of reading and
 * parsing it. present (r >= 0), absent (-ENOENT, -ENODEV), disabled
 * (-EOPNOTSUPP), else error; only then *err becomes *why. */
enum source_state kernel_file_state(const struct kernel_file *file, int r,
	const struct error *why, struct error *err);
