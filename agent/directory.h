/* Directories: opening them, and the names of their subdirectories.
 *
 * A directory can vanish at any moment (a cgroup is removed) or be closed to
 * the agent. That is no error here: such a directory is as good as an empty
 * one. Every other failure (EMFILE, ENOMEM, EIO) sets err. */
#pragma once

#include "lib/error.h"

#include <dirent.h>
#include <stdbool.h>

/* True for ENOENT, ENODEV, ENOTDIR and EACCES, as an errno or its negative. */
bool directory_is_absent(int code);

/* Opens a directory that the configuration names. The caller closes *out.
 * -ENOENT, -EACCES, -ENOTDIR, or what else open(2) returns. */
must_check int directory_open_root(int *out, const char *path,
	struct error *err);

/* Opens name below parent, to open files below it; -1: it cannot be opened. */
int directory_open_at(int parent, const char *name, struct error *err);

void directory_close(int fd); /* -1 is fine */

/* Opens name below parent for directory_next(). */
DIR *directory_open(int parent, const char *name, struct error *err);

/* The name of the next subdirectory, never "." or "..", borrowed until the next
 * call. NULL: there is no further one, and dir is closed. NULL for dir is
 * fine. */
const char *directory_next(DIR *dir, struct error *err);
