#include "agent/cgroup_watch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { EVENTS_BYTES = 4096 };

static const uint32_t wanted = IN_CREATE | IN_DELETE | IN_MOVED_FROM |
	IN_MOVED_TO | IN_DELETE_SELF | IN_ONLYDIR;

void tree_watch_init(struct tree_watch *watch)
{
	*watch = (struct tree_watch){ .fd = -1 };
}

void tree_watch_fini(struct tree_watch *watch)
{
	if (watch->fd >= 0) {
		(void)close(watch->fd);
	}
	tree_watch_init(watch);
}

/* inotify knows paths only; this one leads through the open directory. */
static int add(struct tree_watch *watch, int tree, const char *path)
{
	char full[PATH_MAX];
	int len =
		snprintf(full, sizeof(full), "/proc/self/fd/%d/%s", tree, path);

	if (len < 0 || (size_t)len >= sizeof(full)) {
		return 0;
	}
	if (inotify_add_watch(watch->fd, full, wanted) >= 0) {
		watch->watched++;
		return 0;
	}
	return errno == ENOSPC || errno == ENOMEM ? -errno : 0;
}

int tree_watch_set(struct tree_watch *watch, int tree, char *const *paths,
	size_t count, struct error *err)
{
	int r = 0;

	tree_watch_fini(watch);
	watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch->fd < 0) {
		return error_errno(err, "new pods cannot be watched for");
	}
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = add(watch, tree, paths[i]);
	}
	if (r < 0) {
		tree_watch_fini(watch);
		errno = -r;
		return error_errno(err, "new pods cannot be watched for");
	}
	return 0;
}

bool tree_watch_changed(struct tree_watch *watch)
{
	char events[EVENTS_BYTES]
		__attribute__((aligned(__alignof__(struct inotify_event))));
	bool changed = false;

	while (watch->fd >= 0 && read(watch->fd, events, sizeof(events)) > 0) {
		changed = true;
	}
	return changed;
}
