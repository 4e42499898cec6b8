/* The file of the database: checks before SQLite opens it.
 *
 * One process holds FILE.lock. The lock file also records how the last process
 * ended: it says "open" while the database is in use. So if the lock file says
 * anything, the database file is the store's, however little of it is readable.
 * If the lock file is empty or missing, the file may belong to another
 * program. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How many damaged databases are kept. */
enum { DB_FILE_DAMAGED_MAX = 3 };

/* "plms", in the header of each plimsoll database. */
enum { DB_FILE_APPLICATION_ID = 0x706c6d73, DB_FILE_APPLICATION_ID_AT = 68 };

/* The content of the lock file. */
enum db_file_state {
	DB_FILE_UNMARKED, /* no aggregator has used the database so far */
	DB_FILE_CLOSED,
	DB_FILE_IN_USE,	 /* without a process: not closed cleanly */
	DB_FILE_DAMAGED, /* the last process found damage */
};

struct db_file_id {
	dev_t device;
	ino_t inode;
};

struct db_file {
	char *path;
	int lock;		 /* descriptor of the lock file, or -1 */
	enum db_file_state mark; /* before this process */
	/* Ids of the open database and its write-ahead log. */
	struct db_file_id database, log;
};

/* Takes the lock and reads the mark. db_file_fini() is needed also after an
 * error. -EWOULDBLOCK: another process holds the lock. */
must_check int db_file_init(struct db_file *file, const char *path,
	struct error *err);
void db_file_fini(struct db_file *file);

/* Checks by reading alone. -ENOTSUP: a network file system, whose locks and
 * shared memory are not enough for SQLite's write-ahead log; -EBADMSG: no
 * longer a database, or marked as damaged; -EINVAL: not a plimsoll database. */
must_check int db_file_check(const struct db_file *file, struct error *err);

/* True: *id is the application id in the header of the database that fd is. */
bool db_file_read_id(uint32_t *id, int fd);

/* Whether the file is certainly a plimsoll database, even if it is damaged. */
bool db_file_is_ours(const struct db_file *file);

/* Renames the database and its log to FILE.damaged-N, where N is one above the
 * highest number in use; deletes the oldest above DB_FILE_DAMAGED_MAX. Logs
 * `why`. The database must not be open. */
must_check int db_file_set_aside(const struct db_file *file,
	const struct error *why, struct error *err);

/* Writes the mark and syncs it to the disk. */
must_check int db_file_mark(const struct db_file *file, enum db_file_state mark,
	struct error *err);

/* Remembers which files are open now: the database and its log. */
must_check int db_file_note_ids(struct db_file *file, struct error *err);

/* -ENOENT: a path no longer leads to the open file, so new data would be lost
 * when this process ends. */
must_check int db_file_check_ids(const struct db_file *file, struct error *err);
