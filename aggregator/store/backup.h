/* A copy of a database that an aggregator may be using; the copy shows one
 * moment. */
#pragma once

#include "lib/error.h"

#include <stdint.h>

struct backup_options {
	const char *from, *to;
	/* Called after each step; may be NULL. */
	void (*progress)(void *owner, uint64_t done_bytes, uint64_t bytes);
	void *owner;
};

/* Copies the database `from` to the file `to`. On success the file is complete
 * and on the disk; after an error it does not exist. A running aggregator is
 * not blocked; its write-ahead log grows during the copy.
 * -EEXIST: the file `to` exists, and is left unchanged. */
must_check int backup_run(const struct backup_options *options,
	struct error *err);
