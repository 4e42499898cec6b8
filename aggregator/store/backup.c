#include "aggregator/store/backup.h"

#include "aggregator/store/backup_mark.h"
#include "aggregator/store/db.h"
#include "aggregator/store/schema.h"
#include "lib/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sqlite3.h>
#include <unistd.h>

/* 4 MiB of 4 KiB pages in one step. */
enum { STEP_PAGES = 1024, BUSY_MS = 10000 };

struct copy {
	struct sqlite3 *from, *to;
	int64_t page_bytes;
};

/* Begins a read transaction: without one each commit of the aggregator would
 * make the copy start over. */
static int begin_read(struct copy *copy, struct error *err)
{
	int r = db_exec(copy->from, "BEGIN", err);

	if (r == 0) {
		r = db_exec(copy->from, "SELECT count(*) FROM sqlite_schema",
			err);
	}
	return r < 0 ? r
		     : db_read_number(&copy->page_bytes, copy->from,
			       "PRAGMA page_size", err);
}

/* No other process uses the file until it is complete, so it needs no
 * journal. */
static int open_to(struct copy *copy, const char *path, struct error *err)
{
	if (sqlite3_open_v2(path, &copy->to,
		    SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
		    NULL) != SQLITE_OK) {
		return db_error(copy->to, err, "cannot open the copy");
	}
	return db_exec(copy->to,
		"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;", err);
}

static int copy_pages(const struct copy *copy,
	const struct backup_options *options, struct error *err)
{
	struct sqlite3_backup *backup =
		sqlite3_backup_init(copy->to, "main", copy->from, "main");
	int step = SQLITE_OK;

	if (backup == NULL) {
		return db_error(copy->to, err, "cannot begin");
	}
	while (step == SQLITE_OK) {
		uint64_t all, left;

		step = sqlite3_backup_step(backup, STEP_PAGES);
		all = (uint64_t)sqlite3_backup_pagecount(backup);
		left = (uint64_t)sqlite3_backup_remaining(backup);
		if (options->progress != NULL) {
			options->progress(options->owner,
				(all - left) * (uint64_t)copy->page_bytes,
				all * (uint64_t)copy->page_bytes);
		}
	}
	if (sqlite3_backup_finish(backup) != SQLITE_OK) {
		return db_error(copy->to, err, "cannot copy");
	}
	return 0;
}

static int copy_all(const struct backup_options *options, const char *part,
	struct error *err)
{
	struct copy copy = { 0 };
	int r = store_schema_check_owner(options->from, err);

	if (r == 0) {
		r = db_open_readonly(&copy.from, options->from, BUSY_MS, err);
	}
	r = r == 0 ? begin_read(&copy, err) : r;
	r = r == 0 ? open_to(&copy, part, err) : r;
	r = r == 0 ? copy_pages(&copy, options, err) : r;
	(void)sqlite3_close(copy.to);
	(void)sqlite3_close(copy.from);
	return r;
}

/* Unlike rename(2), link(2) does not replace a file. */
static int publish(const char *part, const char *to, int fd, struct error *err)
{
	scoped_free char *for_dir = xstrdup(to);
	scoped_fd int dir =
		open(dirname(for_dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fsync(fd) != 0) {
		return error_errno(err, "cannot write '%s'", part);
	}
	if (link(part, to) != 0) {
		return error_errno(err, "cannot create '%s'", to);
	}
	if (dir < 0 || fsync(dir) != 0) {
		return error_errno(err, "cannot write the directory of '%s'",
			to);
	}
	return 0;
}

int backup_run(const struct backup_options *options, struct error *err)
{
	scoped_free char *part = xasprintf("%s.part", options->to);
	int r;

	if (access(options->to, F_OK) == 0) {
		return error_set(err, -EEXIST,
			"'%s' already exists and is not overwritten",
			options->to);
	}
	if (access(options->from, R_OK) != 0) {
		return error_errno(err, "cannot read '%s'", options->from);
	}
	scoped_fd int fd =
		open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0) {
		return error_errno(err, "cannot create '%s'", part);
	}
	r = copy_all(options, part, err);
	r = r == 0 ? backup_mark_set(fd, err) : r;
	r = r == 0 ? publish(part, options->to, fd, err) : r;
	(void)unlink(part);
	return r < 0 ? error_wrap(err, r, "cannot back up '%s'", options->from)
		     : 0;
}
