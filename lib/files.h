/* Opens files of others, and reads small ones whole, up to a limit.
 *
 * A path from outside can lead to anything. Opening a FIFO waits until somebody
 * writes, and a device may act. Files are therefore opened without waiting, and
 * must be regular files or links to one. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

#include <stddef.h>

/* Opens the file name, relative to the directory dir (or AT_FDCWD), for
 * reading. Returns the descriptor. -EINVAL: not a regular file; otherwise the
 * error of open(2). */
must_check int file_open(int dir, const char *name, struct error *err);

/* Reads the file name, relative to the directory dir (or AT_FDCWD), into out,
 * NUL-terminated. Returns the length.
 * -EFBIG: more than size - 1 bytes; otherwise as file_open() or read(2), for
 * example -ENOENT, -EACCES, -EOPNOTSUPP (PSI is off) or -ENODEV. */
must_check int file_read_at(char *out, size_t size, int dir, const char *name,
	struct error *err);

/* Appends a whole file to out. -EFBIG: more than out's maximum; otherwise as
 * file_open() or read(2). */
must_check int file_read(struct buffer *out, const char *path,
	struct error *err);

/* The same for what a person names to a command, which may be a pipe; "-" is
 * standard input. Waits for it, so no daemon may call it. */
must_check int file_read_input(struct buffer *out, const char *path,
	struct error *err);
