/* Tells that directories of a cgroup tree came or went: inotify, which works on
 * cgroupfs.
 *
 * Asked at each sample instead of being waited for, so it needs no loop. What
 * happened is not told, for events can be lost; that something did is reason
 * enough to look. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>

struct tree_watch {
	int fd;		/* -1: nothing is watched */
	size_t watched; /* directories */
};

void tree_watch_init(struct tree_watch *watch);
void tree_watch_fini(struct tree_watch *watch); /* zeroed is no fit value */

/* Watches these directories below tree, an open directory, and nothing else. A
 * directory that is gone is left out. -ENOSPC, -EMFILE: the system's limit of
 * watches or instances is reached, and nothing is watched. */
must_check int tree_watch_set(struct tree_watch *watch, int tree,
	char *const *paths, size_t count, struct error *err);

/* Whether anything happened since the last call, or might have. */
bool tree_watch_changed(struct tree_watch *watch);
