#include "aggregator/store/db_file.h"

#include "lib/log.h"
#include "lib/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* By enum store_mark. */
static const char *const marks[] = { "", "closed\n", "open\n", "damaged\n" };

/* As a file begins (sqlite.org/fileformat2.html, section 1.3). */
static const char magic[16] = "SQLite format 3";
enum { HEADER_BYTES = 100, APPLICATION_ID_AT = 68 };

static enum store_mark read_mark(int lock)
{
	char text[16] = "";
	ssize_t len = pread(lock, text, sizeof(text) - 1, 0);

	for (size_t i = 1; len > 0 && i < count_of(marks); i++) {
		if (strcmp(text, marks[i]) == 0) {
			return (enum store_mark)i;
		}
	}
	return STORE_UNMARKED;
}

int store_file_init(struct store_file *file, const char *path,
	struct error *err)
{
	scoped_free char *lock = xasprintf("%s.lock", path);

	*file = (struct store_file){ .path = xstrdup(path), .lock = -1 };
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

void store_file_fini(struct store_file *file)
{
	scoped_fd_run(&file->lock);
	free(file->path);
	*file = (struct store_file){ .lock = -1 };
}

/* ---- checks before SQLite sees it ---- */

/* File systems whose server is elsewhere. FUSE is refused as a whole: sshfs,
 * s3fs, glusterfs and local ones look alike. Numbers from linux/magic.h and,
 * where that has none, from statfs(2) and the file systems' sources. */
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

static int check_place(const struct store_file *file, struct error *err)
{
	struct statfs place;
	const char *name;

	if (fstatfs(file->lock, &place) != 0) {
		return error_errno(err, "cannot see where it lies");
	}
	name = network_name((uint32_t)place.f_type);
	if (name != NULL) {
		return error_set(err, -ENOTSUP,
			"it lies on a network file system (%s), which a "
			"database does not survive; use a local volume",
			name);
	}
	return 0;
}

static uint32_t word_at(const uint8_t *header, size_t at)
{
	return (uint32_t)header[at] << 24 | (uint32_t)header[at + 1] << 16 |
		(uint32_t)header[at + 2] << 8 | header[at + 3];
}

/* application_id 0 is what databases have that were made before we set it, and
 * what many others have: that is told apart by the tables. */
static int check_header(const struct store_file *file, const uint8_t *header,
	size_t len, struct error *err)
{
	uint32_t id;

	if (len < HEADER_BYTES || memcmp(header, magic, sizeof(magic)) != 0) {
		return store_file_is_ours(file)
			? error_set(err, -EBADMSG,
				  "the file does not begin as a database does")
			: error_set(err, -EINVAL,
				  "that file is no database, and it is not "
				  "touched");
	}
	id = word_at(header, APPLICATION_ID_AT);
	if (id != 0 && id != STORE_APPLICATION_ID) {
		return error_set(err, -EINVAL,
			"it is another program's database (application id "
			"%#x), and it is not touched",
			id);
	}
	return 0;
}

int store_file_check(const struct store_file *file, struct error *err)
{
	uint8_t header[HEADER_BYTES];
	ssize_t len;
	int r = check_place(file, err);

	if (r < 0) {
		return error_wrap(err, r, "cannot use the database '%s'",
			file->path);
	}
	scoped_fd int fd = open(file->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		return 0;
	}
	len = fd < 0 ? -1 : pread(fd, header, sizeof(header), 0);
	if (len < 0) {
		return error_errno(err, "cannot read the database '%s'",
			file->path);
	}
	if (file->mark == STORE_DAMAGED) {
		r = error_set(err, -EBADMSG, "damage was found in it");
	} else if (len > 0) {
		r = check_header(file, header, (size_t)len, err);
	}
	return r < 0
		? error_wrap(err, r, "cannot use the database '%s'", file->path)
		: 0;
}

bool store_file_is_ours(const struct store_file *file)
{
	return file->mark != STORE_UNMARKED;
}

/* ---- setting aside ---- */

/* The N of "BASE.damaged-N"; 0: the name is another. */
static unsigned number_of(const char *name, const char *base)
{
	size_t len = strlen(base);
	unsigned n = 0;

	if (strncmp(name, base, len) != 0 ||
		strncmp(name + len, ".damaged-", 9) != 0) {
		return 0;
	}
	for (name += len + 9; *name >= '0' && *name <= '9'; name++) {
		if (n > 100000) {
			return 0;
		}
		n = n * 10 + (unsigned)(*name - '0');
	}
	return *name == '\0' ? n : 0;
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

/* The log goes first: one that is left would be played into the new file. */
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

int store_file_set_aside(const struct store_file *file, const struct error *why,
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
	log_error(
		"the database is damaged: it is set aside, a new one starts "
		"empty",
		log_str("database", file->path), log_str("set_aside", to),
		log_err(why), LOG_END);
	while (found.count >= STORE_DAMAGED_MAX) {
		delete_damaged(file->path, found.lowest);
		found = count_damaged(dir, base);
		found.count--; /* the one that was just made */
	}
	sync_dir(dir);
	return 0;
}

/* ---- marks ---- */

int store_file_mark(const struct store_file *file, enum store_mark mark,
	struct error *err)
{
	size_t len = strlen(marks[mark]);

	/* The longer text is cut after the shorter one is in its place. */
	if (pwrite(file->lock, marks[mark], len, 0) != (ssize_t)len ||
		ftruncate(file->lock, (off_t)len) != 0 ||
		fsync(file->lock) != 0) {
		return error_errno(err, "cannot write '%s.lock'", file->path);
	}
	return 0;
}

int store_file_remember(struct store_file *file, struct error *err)
{
	struct stat st;

	if (stat(file->path, &st) != 0) {
		return error_errno(err, "cannot see '%s'", file->path);
	}
	file->device = st.st_dev;
	file->inode = st.st_ino;
	return 0;
}

int store_file_look(const struct store_file *file, struct error *err)
{
	struct stat st;

	if (stat(file->path, &st) != 0) {
		return error_set(err, -ENOENT,
			"the database '%s' was removed while in use; what "
			"comes now is not stored until a restart",
			file->path);
	}
	if (st.st_dev != file->device || st.st_ino != file->inode) {
		return error_set(err, -ENOENT,
			"another file was put in the place of the database "
			"'%s' while in use; what comes now is not stored until "
			"a restart",
			file->path);
	}
	return 0;
}
