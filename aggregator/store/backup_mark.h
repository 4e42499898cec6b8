/* The mark of a backup, so that a restored one is not mixed with what was
 * there.
 *
 * SQLite would replay a write-ahead log that the database before left beside
 * the restored file: the old state comes back, or the file is damaged. A copy
 * therefore has an application id of its own. No log belongs to a file with
 * that id, because the aggregator changes the id before SQLite opens it. */
#pragma once

#include "lib/error.h"

#include <stdint.h>

struct db_file;

/* "plmb", in the header of a backup until it is restored. */
enum { BACKUP_MARK_ID = 0x706c6d62 };

/* Writes the mark into the file of a complete copy. The caller syncs it. */
must_check int backup_mark_set(int fd, struct error *err);

/* If the database is a backup: renames a log beside it to
 * FILE-wal.before-restore-N and logs that, forgets how the last process ended,
 * and then removes the mark. All is on the disk when it returns, and may be
 * repeated after a kill at any moment. The database must not be open. */
must_check int backup_mark_take(struct db_file *file, struct error *err);
