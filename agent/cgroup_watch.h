/* Detects changes of a cgroup tree with inotify, which works on cgroupfs.
 *
 * The caller polls at each sample, so no event loop is needed. Events can be
 * lost, so the watch only says that something changed, and the caller searches
 * the tree again. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>

struct cgroup_watch {
	int fd;		/* -1: nothing is watched */
	size_t watched; /* directories */
};

void cgroup_watch_init(struct cgroup_watch *watch);

/* Only after cgroup_watch_init(): a zeroed watch would close descriptor 0. */
void cgroup_watch_fini(struct cgroup_watch *watch);

/* Watches these directories below tree, an open directory, and no others. A
 * directory that is gone is skipped. -ENOSPC, -EMFILE: the system's limit of
 * watches or instances is reached, and nothing is watched. */
must_check int cgroup_watch_set(struct cgroup_watch *watch, int tree,
	char *const *paths, size_t count, struct error *err);

/* True: something changed since the last call, or may have. */
bool cgroup_watch_changed(struct cgroup_watch *watch);
