#include "agent/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool directory_is_absent(int code)
{
	code = abs(code);
	return code == ENOENT || code == ENODEV || code == ENOTDIR ||
		code == EACCES;
}

static void note_failed_open(struct error *err, const char *name)
{
	if (!directory_is_absent(errno)) {
		(void)error_errno(err, "cannot open '%s'", name);
	}
}

int directory_open_root(int *out, const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		return error_errno(err, "cannot open '%s'", path);
	}
	*out = fd;
	return 0;
}

int directory_open_at(int parent, const char *name, struct error *err)
{
	int fd = openat(parent, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		note_failed_open(err, name);
	}
	return fd;
}

void directory_close(int fd)
{
	if (fd >= 0) {
		(void)close(fd);
	}
}

DIR *directory_open(int parent, const char *name, struct error *err)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir == NULL) {
		note_failed_open(err, name);
		directory_close(fd);
	}
	return dir;
}

static bool is_directory(DIR *dir, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN) {
		return entry->d_type == DT_DIR;
	}
	return fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ==
		0 &&
		S_ISDIR(st.st_mode);
}

const char *directory_next(DIR *dir, struct error *err)
{
	const struct dirent *entry;

	if (dir == NULL) {
		return NULL;
	}
	for (errno = 0; (entry = readdir(dir)) != NULL; errno = 0) {
		if (strcmp(entry->d_name, ".") != 0 &&
			strcmp(entry->d_name, "..") != 0 &&
			is_directory(dir, entry)) {
			return entry->d_name;
		}
	}
	if (errno != 0 && !directory_is_absent(errno)) {
		(void)error_errno(err, "cannot list a directory");
	}
	(void)closedir(dir);
	return NULL;
}
