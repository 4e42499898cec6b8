#include "agent/cgroup_watch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { EVENTS_BYTES = 4096 };

static const uint32_t events_mask = IN_CREATE | IN_DELETE | IN_MOVED_FROM |
	IN_MOVED_TO | IN_DELETE_SELF | IN_ONLYDIR;

void cgroup_watch_init(struct cgroup_watch *watch)
{
	*watch = (struct cgroup_watch){ .fd = -1 };
}

void cgroup_watch_fini(struct cgroup_watch *watch)
{
	if (watch->fd >= 0) {
		(void)close(watch->fd);
	}
	cgroup_watch_init(watch);
}

/* inotify takes paths only; this path goes through the open directory. */
static int add(struct cgroup_watch *watch, int tree, const char *path)
{
	char full[PATH_MAX];
	int len =
		snprintf(full, sizeof(full), "/proc/self/fd/%d/%s", tree, path);

	if (len < 0 || (size_t)len >= sizeof(full)) {
		return 0;
	}
	if (inotify_add_watch(watch->fd, full, events_mask) >= 0) {
		watch->watched++;
		return 0;
	}
	return errno == ENOSPC || errno == ENOMEM ? -errno : 0;
}

int cgroup_watch_set(struct cgroup_watch *watch, int tree, char *const *paths,
	size_t count, struct error *err)
{
	int r = 0;

	cgroup_watch_fini(watch);
	watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch->fd < 0) {
		return error_errno(err, "cannot watch for new pods");
	}
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = add(watch, tree, paths[i]);
	}
	if (r < 0) {
		cgroup_watch_fini(watch);
		errno = -r;
		return error_errno(err, "cannot watch for new pods");
	}
	return 0;
}

bool cgroup_watch_changed(struct cgroup_watch *watch)
{
	char events[EVENTS_BYTES]
		__attribute__((aligned(__alignof__(struct inotify_event))));
	bool changed = false;
	ssize_t n = watch->fd >= 0 ? 1 : 0;

	while (n > 0) {
		n = read(watch->fd, events, sizeof(events));
		changed |= n > 0 || (n < 0 && errno != EAGAIN);
	}
	return changed;
}
