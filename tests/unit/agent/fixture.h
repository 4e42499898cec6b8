/* A directory of synthetic kernel files for one test. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/memory.h"
#include "tests/support/cm.h"

struct tree {
	char path[64];
	int fd;
	size_t files; /* that were open before */
};

static inline size_t open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t count = 0;

	while (readdir(dir) != NULL) {
		count++;
	}
	(void)closedir(dir);
	return count;
}

static inline void tree_make(struct tree *tree)
{
	tree->files = open_files();
	(void)snprintf(tree->path, sizeof(tree->path),
		"/tmp/plimsoll-agent-test-XXXXXX");
	assert_non_null(mkdtemp(tree->path));
	tree->fd = open(tree->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(tree->fd >= 0);
}

static inline void tree_dir(const struct tree *tree, const char *name)
{
	scoped_free char *copy = xstrdup(name);

	for (char *slash = strchr(copy, '/'); slash != NULL;
		slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdirat(tree->fd, copy, 0755);
		*slash = '/';
	}
	(void)mkdirat(tree->fd, copy, 0755);
}

/* Writes a file in place: open descriptors read the new content. */
static inline void tree_put(const struct tree *tree, const char *name,
	const char *text)
{
	scoped_free char *parent = xstrdup(name);
	char *slash = strrchr(parent, '/');
	int fd;

	if (slash != NULL) {
		*slash = '\0';
		tree_dir(tree, parent);
	}
	fd = openat(tree->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

static inline int tree_remove_one(const char *path, const struct stat *st,
	int type, struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	return remove(path);
}

/* name is below the tree; "" removes all of it. */
static inline void tree_remove(const struct tree *tree, const char *name)
{
	scoped_free char *path = xasprintf("%s/%s", tree->path, name);

	assert_int_equal(nftw(path, tree_remove_one, 8, FTW_DEPTH | FTW_PHYS),
		0);
}

static inline void tree_close(const struct tree *tree)
{
	tree_remove(tree, "");
	(void)close(tree->fd);
}

/* The same; checks that what was opened since tree_make() is closed. */
static inline void tree_fini(const struct tree *tree)
{
	tree_close(tree);
	assert_int_equal(open_files(), tree->files);
}
