/* A copy of a database that an aggregator may be using: all of one moment. */
#pragma once

#include "lib/error.h"

#include <stdint.h>

struct backup_options {
	const char *from, *to;
	/* Called now and then; may be NULL. */
	void (*progress)(void *owner, uint64_t done_bytes, uint64_t bytes);
	void *owner;
};

/* Copies the database from to the file to, which is there in whole or not at
 * all and on the disk when this returns. The running aggregator is not held
 * up; its write-ahead log grows while the copy is made.
 * -EEXIST: something is called to already, and stays as it is. */
must_check int store_backup(const struct backup_options *options,
	struct error *err);
