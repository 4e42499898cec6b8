/* The database as a file: what has to be known before SQLite may touch it.
 *
 * FILE.lock is held by one process and remembers how the last one ended: it
 * says "open" from the moment the database is used until it was closed. A file
 * whose lock file says anything is therefore ours, however little of it can
 * still be read; one whose lock file is empty or missing may be anybody's. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* Of what was set aside this many are kept. */
enum { STORE_DAMAGED_MAX = 3 };

/* "plms", in the database's header: this file is plimsoll's. */
enum { STORE_APPLICATION_ID = 0x706c6d73 };

/* What the lock file says. */
enum store_mark {
	STORE_UNMARKED, /* no aggregator has used the database so far */
	STORE_CLOSED,
	STORE_IN_USE,  /* if nobody is: it was not closed */
	STORE_DAMAGED, /* whoever used it last found damage */
};

struct store_file {
	char *path;
	int lock;	      /* descriptor of the lock file, or -1 */
	enum store_mark mark; /* as it was found */
	dev_t device;	      /* of the database once it is open */
	ino_t inode;
};

/* Takes the lock and reads the mark. -EWOULDBLOCK: another process holds it.
 * store_file_fini() is needed either way. */
must_check int store_file_init(struct store_file *file, const char *path,
	struct error *err);
void store_file_fini(struct store_file *file);

/* Only reads. -ENOTSUP: a network file system, whose locks and shared memory
 * do not hold what SQLite's log needs; -EBADMSG: not a database any more, or
 * marked as damaged; -EINVAL: another program's database or no database. */
must_check int store_file_check(const struct store_file *file,
	struct error *err);

/* Whether a damaged file was surely ours, so that it may be moved away. */
bool store_file_is_ours(const struct store_file *file);

/* Renames the database to FILE.damaged-N, its log beside it, N one above the
 * highest there is; the oldest beyond STORE_DAMAGED_MAX are deleted. Logs what
 * was done and why. Nobody may have the database open. */
must_check int store_file_set_aside(const struct store_file *file,
	const struct error *why, struct error *err);

/* Writes the mark, through to the disk. */
must_check int store_file_mark(const struct store_file *file,
	enum store_mark mark, struct error *err);

/* Remembers which file is open now. */
must_check int store_file_remember(struct store_file *file, struct error *err);

/* -ENOENT: the path no longer leads to the file that is open, so that what is
 * written would be lost with this process. */
must_check int store_file_look(const struct store_file *file,
	struct error *err);
