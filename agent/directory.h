/* Subdirectories, by name. */
#pragma once

#include <dirent.h>

/* Opens name below the directory parent. NULL: it is not there, or no
 * directory, or not ours to read. The caller calls closedir(3). */
DIR *directory_open(int parent, const char *name);

/* The name of the next subdirectory, never "." or ".."; NULL at the end.
 * Borrowed until the next call. */
const char *directory_next(DIR *dir);
