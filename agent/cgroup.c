#include "agent/cgroup.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/directory.h"
#include "lib/memory.h"

enum {
	LEVELS = 4,
	/* Keeps a scan short where something makes cgroups without end. */
	PATHS_MAX = 4096,
	UID_LEN = 36,
	STATIC_UID_LEN = 32,
};

struct paths {
	char **items; /* owned, and so is each */
	size_t count, capacity;
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

/* The len first bytes of text are 8-4-4-4-12 or 32 lower case hex digits. */
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

/* The length of name without ".slice"; 0 if it is none. */
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
	const char *uid;

	if (len == 0) {
		if (strncmp(name, "pod", 3) != 0 ||
			!is_uid(name + 3, strlen(name + 3), '-')) {
			return false;
		}
		copy_uid(out, name + 3, strlen(name + 3));
		return true;
	}
	uid = strstr(name, "kubepods-");
	uid = uid == NULL ? NULL : strstr(uid, "-pod");
	if (uid == NULL) {
		return false;
	}
	uid += strlen("-pod");
	len -= (size_t)(uid - name);
	if (!is_uid(uid, len, '_')) {
		return false;
	}
	copy_uid(out, uid, len);
	return true;
}

bool cgroup_is_kubepods(const char *name)
{
	static const char slice[] = "kubepods.slice";
	size_t len = strlen(name);
	const char *tail;

	if (strcmp(name, "kubepods") == 0) {
		return true;
	}
	if (len < sizeof(slice) - 1) {
		return false;
	}
	tail = name + len - (sizeof(slice) - 1);
	return strcmp(tail, slice) == 0 && (tail == name || tail[-1] == '-');
}

/* Pods of a class have a group of their own between kubepods and themselves. */
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

static void paths_add(struct paths *paths, const char *parent, const char *name)
{
	if (paths->count == PATHS_MAX) {
		return;
	}
	paths->items = xgrow(paths->items, paths->count, &paths->capacity,
		sizeof(paths->items[0]));
	paths->items[paths->count++] = join(parent, name);
}

static void paths_fini(struct paths *paths)
{
	for (size_t i = 0; i < paths->count; i++) {
		free(paths->items[i]);
	}
	free(paths->items);
	*paths = (struct paths){ 0 };
}

static void add_pod(struct cgroup_pods *out, int dir, const char *parent,
	const char *name)
{
	struct cgroup_pod pod = { 0 };
	struct stat st;

	if (!cgroup_parse_pod(pod.uid, name) ||
		fstatat(dir, name, &st, 0) != 0) {
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

/* Adds the pods right below path; its classes go to *classes if not NULL. */
static void add_pods(struct cgroup_pods *out, int root, const char *path,
	struct paths *classes)
{
	DIR *dir = directory_open(root, path);
	const char *name;

	if (dir == NULL) {
		return;
	}
	while ((name = directory_next(dir)) != NULL) {
		if (classes != NULL && is_class(name)) {
			paths_add(classes, path, name);
		} else {
			add_pod(out, dirfd(dir), path, name);
		}
	}
	(void)closedir(dir);
}

static void collect(struct cgroup_pods *out, int root, const char *kubepods)
{
	struct paths classes = { 0 };

	*out = (struct cgroup_pods){ .kubepods = xstrdup(kubepods) };
	add_pods(out, root, kubepods, &classes);
	for (size_t i = 0; i < classes.count; i++) {
		add_pods(out, root, classes.items[i], NULL);
	}
	paths_add(&classes, ".", kubepods);
	out->groups = classes.items;
	out->group_count = classes.count;
}

static void keep_larger(struct cgroup_pods *out, int root, const char *parent,
	const char *name)
{
	scoped_free char *path = join(parent, name);
	struct cgroup_pods found;

	collect(&found, root, path);
	if (out->kubepods == NULL || found.count > out->count) {
		cgroup_pods_fini(out);
		*out = found;
	} else {
		cgroup_pods_fini(&found);
	}
}

static void search_in(struct cgroup_pods *out, int root, const char *path,
	struct paths *deeper)
{
	DIR *dir = directory_open(root, path);
	const char *name;

	if (dir == NULL) {
		return;
	}
	while ((name = directory_next(dir)) != NULL) {
		if (cgroup_is_kubepods(name)) {
			keep_larger(out, root, path, name);
		} else {
			paths_add(deeper, path, name);
		}
	}
	(void)closedir(dir);
}

static int compare_pods(const void *left, const void *right)
{
	const struct cgroup_pod *l = left;
	const struct cgroup_pod *r = right;

	return strcmp(l->path, r->path);
}

void cgroup_find_pods(struct cgroup_pods *out, int root)
{
	struct cgroup_pods found = { 0 };
	struct paths level = { 0 };

	paths_add(&level, ".", ".");
	for (int i = 0; i < LEVELS && found.kubepods == NULL; i++) {
		struct paths deeper = { 0 };

		for (size_t k = 0; k < level.count; k++) {
			search_in(&found, root, level.items[k], &deeper);
		}
		paths_fini(&level);
		level = deeper;
	}
	paths_fini(&level);
	if (found.count > 0) {
		qsort(found.pods, found.count, sizeof(found.pods[0]),
			compare_pods);
	}
	*out = found;
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
	for (size_t i = 0; i < pods->group_count; i++) {
		free(pods->groups[i]);
	}
	free(pods->groups);
	free(pods->kubepods);
	*pods = (struct cgroup_pods){ 0 };
}
