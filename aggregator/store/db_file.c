#include "aggregator/store/db_file.h"

#include "lib/decimal.h"
#include "lib/files.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* By enum db_file_state. */
static const char *const marks[] = { "", "closed\n", "open\n", "damaged\n" };

/* The header (sqlite.org/fileformat2.html, section 1.3). */
static const char magic[16] = "SQLite format 3";
enum { HEADER_BYTES = 100 };

static enum db_file_state read_mark(int lock)
{
	char text[16] = "";
	ssize_t len = pread(lock, text, sizeof(text) - 1, 0);

	for (size_t i = 1; len > 0 && i < count_of(marks); i++) {
		if (strcmp(text, marks[i]) == 0) {
			return (enum db_file_state)i;
		}
	}
	return DB_FILE_UNMARKED;
}

int db_file_init(struct db_file *file, const char *path, struct error *err)
{
	scoped_free char *lock = xasprintf("%s.lock", path);

	*file = (struct db_file){ .path = xstrdup(path), .lock = -1 };
	file->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (file->lock < 0) {
		return error_errno(err, "cannot open '%s'", lock);
	}
	if (flock(file->lock, LOCK_EX | LOCK_NB) == 0) {
		file->mark = read_mark(file->lock);
		return 0;
	}
	if (errno == EWOULDBLOCK) {
		return error_set(err, -EWOULDBLOCK,
			"another aggregator uses the database '%s'", path);
	}
	return error_errno(err, "cannot lock '%s'", lock);
}

void db_file_fini(struct db_file *file)
{
	scoped_fd_run(&file->lock);
	free(file->path);
	*file = (struct db_file){ .lock = -1 };
}

/* ---- checks ---- */

/* Network file systems. All of FUSE is refused: sshfs, s3fs, glusterfs and
 * local file systems look alike. The numbers are from linux/magic.h, or from
 * statfs(2) and the sources of the file systems. */
static const char *network_name(uint32_t type)
{
	static const struct {
		uint32_t type;
		const char *name;
	} all[] = {
		{ 0x6969, "NFS" },
		{ 0xff534d42, "CIFS" },
		{ 0xfe534d42, "SMB" },
		{ 0x517b, "SMB" },
		{ 0x65735546, "FUSE" },
		{ 0x5346414f, "AFS" },
		{ 0x6b414653, "AFS" },
		{ 0x00c36400, "Ceph" },
		{ 0x01021997, "9p" },
		{ 0x0bd00bd0, "Lustre" },
		{ 0x73757245, "Coda" },
		{ 0x564c, "NCP" },
	};

	for (size_t i = 0; i < count_of(all); i++) {
		if (all[i].type == type) {
			return all[i].name;
		}
	}
	return NULL;
}

static int check_file_system(const struct db_file *file, struct error *err)
{
	struct statfs fs;
	const char *name;

	if (fstatfs(file->lock, &fs) != 0) {
		return error_errno(err, "cannot determine its file system");
	}
	name = network_name((uint32_t)fs.f_type);
	if (name != NULL) {
		return error_set(err, -ENOTSUP,
			"it is on a network file system (%s), which can damage "
			"a database; use a local volume",
			name);
	}
	return 0;
}

static uint32_t word_at(const uint8_t *header, size_t at)
{
	return (uint32_t)header[at] << 24 | (uint32_t)header[at + 1] << 16 |
		(uint32_t)header[at + 2] << 8 | header[at + 3];
}

static bool is_database(const uint8_t *header, ssize_t len)
{
	return len >= HEADER_BYTES && memcmp(header, magic, sizeof(magic)) == 0;
}

bool db_file_read_id(uint32_t *id, int fd)
{
	uint8_t header[HEADER_BYTES];
	ssize_t len = pread(fd, header, sizeof(header), 0);

	if (!is_database(header, len)) {
		return false;
	}
	*id = word_at(header, DB_FILE_APPLICATION_ID_AT);
	return true;
}

/* Old plimsoll databases have application_id 0, and so have databases of many
 * other programs; store/schema tells them apart by their tables. */
static int check_header(const struct db_file *file, const uint8_t *header,
	ssize_t len, struct error *err)
{
	uint32_t id;

	if (!is_database(header, len)) {
		return db_file_is_ours(file)
			? error_set(err, -EBADMSG,
				  "the header is not that of a database")
			: error_set(err, -EINVAL,
				  "not a plimsoll database; left unchanged");
	}
	id = word_at(header, DB_FILE_APPLICATION_ID_AT);
	if (id != 0 && id != DB_FILE_APPLICATION_ID) {
		return error_set(err, -EINVAL,
			"another program's database (application id %#x); left "
			"unchanged",
			id);
	}
	return 0;
}

int db_file_check(const struct db_file *file, struct error *err)
{
	uint8_t header[HEADER_BYTES];
	struct error why = { 0 };
	ssize_t len;
	int r = check_file_system(file, err);

	if (r < 0) {
		return error_wrap(err, r, "cannot use the database '%s'",
			file->path);
	}
	scoped_fd int fd = file_open(AT_FDCWD, file->path, &why);
	if (fd == -ENOENT) {
		return 0;
	}
	if (fd < 0) {
		return error_set(err, fd, "cannot use the database: %s",
			why.text);
	}
	len = pread(fd, header, sizeof(header), 0);
	if (len < 0) {
		return error_errno(err, "cannot read the database '%s'",
			file->path);
	}
	if (file->mark == DB_FILE_DAMAGED) {
		r = error_set(err, -EBADMSG, "it is marked as damaged");
	} else if (len > 0) {
		r = check_header(file, header, len, err);
	}
	return r < 0
		? error_wrap(err, r, "cannot use the database '%s'", file->path)
		: 0;
}

bool db_file_is_ours(const struct db_file *file)
{
	return file->mark != DB_FILE_UNMARKED;
}

/* ---- setting aside ---- */

/* The N of "BASE.damaged-N"; 0: another name. */
static unsigned number_of(const char *name, const char *base)
{
	size_t len = strlen(base);
	uint64_t n;

	if (strncmp(name, base, len) != 0 ||
		strncmp(name + len, ".damaged-", 9) != 0) {
		return 0;
	}
	name += len + 9;
	return decimal_parse(&n, &name, 1000000) && *name == '\0' ? (unsigned)n
								  : 0;
}

struct damaged {
	unsigned count, lowest, highest;
};

static struct damaged count_damaged(const char *dir, const char *base)
{
	struct damaged found = { 0 };
	struct dirent *entry;
	DIR *stream = opendir(dir);

	while (stream != NULL && (entry = readdir(stream)) != NULL) {
		unsigned n = number_of(entry->d_name, base);

		if (n == 0) {
			continue;
		}
		found.lowest =
			found.count == 0 || n < found.lowest ? n : found.lowest;
		found.highest = n > found.highest ? n : found.highest;
		found.count++;
	}
	if (stream != NULL) {
		(void)closedir(stream);
	}
	return found;
}

static void delete_damaged(const char *path, unsigned n)
{
	scoped_free char *name = xasprintf("%s.damaged-%u", path, n);
	scoped_free char *log = xasprintf("%s-wal", name);

	(void)unlink(log);
	if (unlink(name) == 0) {
		log_warning("deleted the oldest damaged database",
			log_str("file", name), LOG_END);
	}
}

static void sync_dir(const char *dir)
{
	scoped_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		(void)fsync(fd);
	}
}

/* The log is moved first: a log that stays would be replayed into the new
 * file. */
static int move(const char *path, const char *to, struct error *err)
{
	scoped_free char *log = xasprintf("%s-wal", path);
	scoped_free char *log_to = xasprintf("%s-wal", to);
	scoped_free char *index = xasprintf("%s-shm", path);

	(void)unlink(index);
	if (rename(log, log_to) != 0 && errno != ENOENT) {
		return error_errno(err, "cannot rename '%s'", log);
	}
	if (rename(path, to) != 0) {
		return error_errno(err, "cannot rename '%s'", path);
	}
	return 0;
}

int db_file_set_aside(const struct db_file *file, const struct error *why,
	struct error *err)
{
	scoped_free char *for_dir = xstrdup(file->path);
	scoped_free char *for_base = xstrdup(file->path);
	const char *dir = dirname(for_dir);
	const char *base = basename(for_base);
	struct damaged found = count_damaged(dir, base);
	scoped_free char *to =
		xasprintf("%s.damaged-%u", file->path, found.highest + 1);
	int r = move(file->path, to, err);

	if (r < 0) {
		return r;
	}
	log_error("damaged database set aside, starting with an empty one",
		log_str("database", file->path), log_str("set_aside", to),
		log_err(why), LOG_END);
	while (found.count >= DB_FILE_DAMAGED_MAX) {
		delete_damaged(file->path, found.lowest);
		found = count_damaged(dir, base);
		found.count--; /* without the one just made */
	}
	sync_dir(dir);
	return 0;
}

/* ---- marks ---- */

int db_file_mark(const struct db_file *file, enum db_file_state mark,
	struct error *err)
{
	size_t len = strlen(marks[mark]);
	ssize_t written = pwrite(file->lock, marks[mark], len, 0);

	if (written >= 0 && written < (ssize_t)len) {
		errno = ENOSPC; /* a short write sets none */
	}
	/* A longer old text is truncated after the write. */
	if (written != (ssize_t)len || ftruncate(file->lock, (off_t)len) != 0 ||
		fsync(file->lock) != 0) {
		return error_errno(err, "cannot write '%s.lock'", file->path);
	}
	return 0;
}

static int find_id(struct db_file_id *out, const char *path, struct error *err)
{
	struct stat st;

	if (stat(path, &st) != 0) {
		return error_errno(err, "cannot stat '%s'", path);
	}
	*out = (struct db_file_id){ st.st_dev, st.st_ino };
	return 0;
}

int db_file_note_ids(struct db_file *file, struct error *err)
{
	scoped_free char *log = xasprintf("%s-wal", file->path);
	int r = find_id(&file->database, file->path, err);

	return r < 0 ? r : find_id(&file->log, log, err);
}

static int check_id(const char *path, const struct db_file_id *id,
	struct error *err)
{
	struct db_file_id now = { 0 };
	bool is_there = find_id(&now, path, NULL) == 0;

	if (is_there && now.device == id->device && now.inode == id->inode) {
		return 0;
	}
	return error_set(err, -ENOENT,
		"'%s' was %s while in use; reports are not stored until a "
		"restart",
		path, is_there ? "replaced" : "removed");
}

int db_file_check_ids(const struct db_file *file, struct error *err)
{
	scoped_free char *log = xasprintf("%s-wal", file->path);
	int r = check_id(file->path, &file->database, err);

	return r < 0 ? r : check_id(log, &file->log, err);
}
