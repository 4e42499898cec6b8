#include "agent/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/directory.h"
#include "lib/memory.h"

enum {
	LEVELS = 4,
	/* Limits the search where a program creates cgroups endlessly. */
	PATHS_MAX = 4096,
	UID_LEN = 36,
	STATIC_UID_LEN = 32,
};

enum cgroup_mode cgroup_detect(int root)
{
	static const char *const controllers[] = { "cpu", "cpu,cpuacct",
		"cpuacct", "memory" };

	if (faccessat(root, "cgroup.controllers", F_OK, 0) == 0) {
		return CGROUP_V2;
	}
	if (faccessat(root, "unified/cgroup.controllers", F_OK, 0) == 0) {
		return CGROUP_HYBRID;
	}
	for (size_t i = 0; i < count_of(controllers); i++) {
		if (faccessat(root, controllers[i], F_OK, 0) == 0) {
			return CGROUP_V1;
		}
	}
	return CGROUP_UNKNOWN;
}

/* True: the first len bytes are 8-4-4-4-12 or 32 lower case hex digits. */
static bool is_uid(const char *text, size_t len, char separator)
{
	if (len != UID_LEN && len != STATIC_UID_LEN) {
		return false;
	}
	for (size_t i = 0; i < len; i++) {
		bool dash = len == UID_LEN &&
			(i == 8 || i == 13 || i == 18 || i == 23);

		if (dash ? text[i] != separator
			 : text[i] == '\0' ||
					strchr("0123456789abcdef", text[i]) ==
						NULL) {
			return false;
		}
	}
	return true;
}

static void copy_uid(char *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		out[i] = text[i];
		if (text[i] == '_') {
			out[i] = '-';
		}
	}
	out[len] = '\0';
}

/* The length of name without ".slice"; 0 without that suffix. */
static size_t slice_len(const char *name)
{
	static const char suffix[] = ".slice";
	size_t len = strlen(name);
	size_t suffix_len = sizeof(suffix) - 1;

	if (len < suffix_len || strcmp(name + len - suffix_len, suffix) != 0) {
		return 0;
	}
	return len - suffix_len;
}

bool cgroup_parse_pod(char *out, const char *name)
{
	size_t len = slice_len(name);
	bool is_slice = len > 0;
	const char *uid = NULL;

	if (is_slice) {
		uid = strstr(name, "kubepods-");
		uid = uid == NULL ? NULL : strstr(uid, "-pod");
		uid = uid == NULL ? NULL : uid + strlen("-pod");
	} else if (strncmp(name, "pod", strlen("pod")) == 0) {
		uid = name + strlen("pod");
		len = strlen(name);
	}
	if (uid == NULL ||
		!is_uid(uid, len - (size_t)(uid - name),
			is_slice ? '_' : '-')) {
		return false;
	}
	copy_uid(out, uid, len - (size_t)(uid - name));
	return true;
}

bool cgroup_is_kubepods(const char *name)
{
	size_t len = slice_len(name);
	size_t word = strlen("kubepods");
	const char *at = name + (len < word ? 0 : len - word);

	return strcmp(name, "kubepods") == 0 ||
		(strcmp(at, "kubepods.slice") == 0 &&
			(at == name || at[-1] == '-'));
}

/* True: a QoS class, which has a cgroup between kubepods and its pods. */
static bool is_class(const char *name)
{
	size_t len = slice_len(name);
	const char *dash = len == 0 ? NULL : strrchr(name, '-');
	const char *word = dash == NULL ? name : dash + 1;

	return strcmp(word, "burstable") == 0 ||
		strcmp(word, "besteffort") == 0 ||
		strcmp(word, "burstable.slice") == 0 ||
		strcmp(word, "besteffort.slice") == 0;
}

static char *join(const char *parent, const char *name)
{
	if (strcmp(parent, ".") == 0) {
		return xstrdup(name);
	}
	return xasprintf("%s/%s", parent, name);
}

static void paths_add(struct cgroup_paths *paths, const char *parent,
	const char *name)
{
	if (paths->count == PATHS_MAX) {
		return;
	}
	paths->items = xgrow(paths->items, paths->count, &paths->capacity,
		sizeof(paths->items[0]));
	paths->items[paths->count++] = join(parent, name);
}

void cgroup_paths_fini(struct cgroup_paths *paths)
{
	for (size_t i = 0; i < paths->count; i++) {
		free(paths->items[i]);
	}
	free(paths->items);
	*paths = (struct cgroup_paths){ 0 };
}

static void add_pod(struct cgroup_pods *out, int dir, const char *parent,
	const char *name, struct error *err)
{
	struct cgroup_pod pod = { 0 };
	struct stat st;

	if (!cgroup_parse_pod(pod.uid, name)) {
		return;
	}
	if (fstatat(dir, name, &st, 0) != 0) {
		if (!directory_is_absent(errno)) {
			(void)error_errno(err, "cannot stat '%s'", name);
		}
		return;
	}
	if (out->count == REPORT_VMS_MAX) {
		out->skipped++;
		return;
	}
	pod.inode = st.st_ino;
	pod.path = join(parent, name);
	out->pods = xgrow(out->pods, out->count, &out->capacity,
		sizeof(out->pods[0]));
	out->pods[out->count++] = pod;
}

/* Adds the pods directly below path, and the QoS classes to *classes unless it
 * is NULL. */
static void add_pods(struct cgroup_pods *out, int root, const char *path,
	struct cgroup_paths *classes, struct error *err)
{
	DIR *dir = directory_open(root, path, err);
	const char *name;

	while ((name = directory_next(dir, err)) != NULL) {
		if (classes != NULL && is_class(name)) {
			paths_add(classes, path, name);
		} else {
			add_pod(out, dirfd(dir), path, name, err);
		}
	}
}

static void collect(struct cgroup_pods *out, int root, const char *kubepods,
	struct error *err)
{
	*out = (struct cgroup_pods){ .kubepods = xstrdup(kubepods) };
	add_pods(out, root, kubepods, &out->parents, err);
	for (size_t i = 0; i < out->parents.count; i++) {
		add_pods(out, root, out->parents.items[i], NULL, err);
	}
	paths_add(&out->parents, ".", kubepods);
}

static void choose_larger(struct cgroup_pods *out, int root, const char *parent,
	const char *name, struct error *err)
{
	scoped_free char *path = join(parent, name);
	struct cgroup_pods found;

	collect(&found, root, path, err);
	if (out->kubepods == NULL || found.count > out->count) {
		cgroup_pods_fini(out);
		*out = found;
	} else {
		cgroup_pods_fini(&found);
	}
}

static void search_in(struct cgroup_pods *out, int root, const char *path,
	struct cgroup_paths *deeper, struct error *err)
{
	DIR *dir = directory_open(root, path, err);
	const char *name;

	while ((name = directory_next(dir, err)) != NULL) {
		if (cgroup_is_kubepods(name)) {
			choose_larger(out, root, path, name, err);
		} else {
			paths_add(deeper, path, name);
		}
	}
}

static int compare_pods(const void *left, const void *right)
{
	const struct cgroup_pod *l = left;
	const struct cgroup_pod *r = right;

	return strcmp(l->path, r->path);
}

int cgroup_find_pods(struct cgroup_pods *out, int root, struct error *err)
{
	struct cgroup_pods found = { 0 };
	struct cgroup_paths level = { 0 };
	struct error why = { 0 };

	paths_add(&level, ".", ".");
	for (int i = 0; i < LEVELS && found.kubepods == NULL; i++) {
		struct cgroup_paths deeper = { 0 };

		for (size_t k = 0; k < level.count; k++) {
			search_in(&found, root, level.items[k], &deeper, &why);
		}
		cgroup_paths_fini(&level);
		level = deeper;
	}
	cgroup_paths_fini(&level);
	if (why.code != 0) {
		cgroup_pods_fini(&found);
		return error_set(err, why.code, "%s", why.text);
	}
	if (found.count > 0) {
		qsort(found.pods, found.count, sizeof(found.pods[0]),
			compare_pods);
	}
	*out = found;
	return 0;
}

void cgroup_pods_fini(struct cgroup_pods *pods)
{
	if (pods == NULL) {
		return;
	}
	for (size_t i = 0; i < pods->count; i++) {
		free(pods->pods[i].path);
	}
	free(pods->pods);
	cgroup_paths_fini(&pods->parents);
	free(pods->kubepods);
	*pods = (struct cgroup_pods){ 0 };
}

/* ---- changes ---- */

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
static int add_watch(struct cgroup_watch *watch, int tree, const char *path)
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
		r = add_watch(watch, tree, paths[i]);
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
