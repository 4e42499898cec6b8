/* Small files, read whole, with a limit. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

#include <stddef.h>

/* Reads the file called name below the directory dir (or AT_FDCWD) into out,
 * NUL-terminated. Returns the length.
 * -EFBIG: it holds more than size - 1 bytes; else what open(2) or read(2) say:
 * -ENOENT, -EACCES, -EOPNOTSUPP (PSI switched off), -ENODEV. */
must_check int file_read_at(char *out, size_t size, int dir, const char *name,
	struct error *err);

/* Reads a whole file into out, up to its maximum. -EFBIG beyond it. */
must_check int file_read(struct buffer *out, const char *path,
	struct error *err);
