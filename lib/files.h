/* Reads small files whole, up to a limit. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

#include <stddef.h>

/* Reads the file name, relative to the directory dir (or AT_FDCWD), into out,
 * NUL-terminated. Returns the length.
 * -EFBIG: more than size - 1 bytes; otherwise the error of open(2) or read(2),
 * for example -ENOENT, -EACCES, -EOPNOTSUPP (PSI is off) or -ENODEV. */
must_check int file_read_at(char *out, size_t size, int dir, const char *name,
	struct error *err);

/* Appends a whole file to out. -EFBIG: more than out's maximum. */
must_check int file_read(struct buffer *out, const char *path,
	struct error *err);
