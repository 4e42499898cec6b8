#include "agent/pods.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/cgroup.h"
#include "agent/pod.h"
#include "agent/psi.h"
#include "agent/cgroup_watch.h"
#include "lib/memory.h"

struct pods {
	int root; /* borrowed */
	enum cgroup_mode mode;
	int tree; /* the v2 tree, owned; -1 without one */
	bool scanned;
	uint64_t scanned_us;
	struct tree_watch watch;
	char **watched; /* what it was set to; owned, and so is each */
	size_t watched_count;
	size_t skipped; /* pods that no report holds */
	char *kubepods; /* path below tree, owned; NULL: none known */
	int kubepods_dir;
	struct psi_files kubepods_files;
	struct pod **items; /* sorted by path; owned, and so is each */
	size_t count;
};

struct pods *pods_new(int root)
{
	struct pods *pods = xcalloc(1, sizeof(*pods));

	pods->root = root;
	pods->tree = -1;
	pods->kubepods_dir = -1;
	tree_watch_init(&pods->watch);
	return pods;
}

static void forget_kubepods(struct pods *pods)
{
	psi_files_fini(&pods->kubepods_files);
	if (pods->kubepods_dir >= 0) {
		(void)close(pods->kubepods_dir);
	}
	pods->kubepods_dir = -1;
	free(pods->kubepods);
	pods->kubepods = NULL;
}

static void forget_watched(struct pods *pods)
{
	for (size_t i = 0; i < pods->watched_count; i++) {
		free(pods->watched[i]);
	}
	free(pods->watched);
	pods->watched = NULL;
	pods->watched_count = 0;
}

void pods_free(struct pods *pods)
{
	if (pods == NULL) {
		return;
	}
	forget_kubepods(pods);
	tree_watch_fini(&pods->watch);
	forget_watched(pods);
	for (size_t i = 0; i < pods->count; i++) {
		pod_free(pods->items[i]);
	}
	free(pods->items);
	if (pods->tree >= 0) {
		(void)close(pods->tree);
	}
	free(pods);
}

static void open_tree(struct pods *pods)
{
	pods->mode = cgroup_detect(pods->root);
	if (pods->tree >= 0 ||
		(pods->mode != CGROUP_V2 && pods->mode != CGROUP_HYBRID)) {
		return;
	}
	pods->tree = openat(pods->root,
		pods->mode == CGROUP_HYBRID ? "unified" : ".",
		O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool is_same_inode(int left, int right)
{
	struct stat l;
	struct stat r;

	return fstat(left, &l) == 0 && fstat(right, &r) == 0 &&
		l.st_ino == r.st_ino;
}

static void keep_kubepods(struct pods *pods, const char *path)
{
	int dir = path == NULL
		? -1
		: openat(pods->tree, path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir >= 0 && pods->kubepods_dir >= 0 &&
		is_same_inode(dir, pods->kubepods_dir)) {
		(void)close(dir);
		return;
	}
	forget_kubepods(pods);
	if (dir < 0) {
		return;
	}
	pods->kubepods = xstrdup(path);
	pods->kubepods_dir = dir;
	psi_files_init(&pods->kubepods_files, dir);
}

/* Both lists are sorted by path: what is in both stays open. */
static void merge(struct pods *pods, const struct cgroup_pods *found)
{
	struct pod **items = xcalloc(found->count, sizeof(struct pod *));
	size_t count = 0;
	size_t old = 0;

	for (size_t i = 0; i < found->count; i++) {
		const struct cgroup_pod *want = &found->pods[i];
		struct pod *pod = NULL;

		while (old < pods->count &&
			strcmp(pods->items[old]->path, want->path) < 0) {
			pod_free(pods->items[old++]);
		}
		if (old < pods->count && pod_is(pods->items[old], want)) {
			pod = pods->items[old++];
		} else {
			pod = pod_open(pods->tree, want);
		}
		if (pod != NULL) {
			items[count++] = pod;
		}
	}
	while (old < pods->count) {
		pod_free(pods->items[old++]);
	}
	free(pods->items);
	pods->items = items;
	pods->count = count;
}

static bool is_watched(const struct pods *pods, const struct cgroup_pods *found)
{
	bool same = pods->watch.fd >= 0 &&
		pods->watched_count == found->group_count;

	for (size_t i = 0; same && i < found->group_count; i++) {
		same = strcmp(pods->watched[i], found->groups[i]) == 0;
	}
	return same;
}

/* True: what is watched is other than before, so that something may have
 * happened between the search and this. */
static bool watch_groups(struct pods *pods, struct cgroup_pods *found,
	struct error *err)
{
	if (is_watched(pods, found)) {
		return false;
	}
	forget_watched(pods);
	if (found->group_count == 0 ||
		tree_watch_set(&pods->watch, pods->tree, found->groups,
			found->group_count, err) < 0) {
		tree_watch_fini(&pods->watch);
		return false;
	}
	pods->watched = take_ptr(found->groups);
	pods->watched_count = found->group_count;
	found->group_count = 0;
	return true;
}

static void search(struct pods *pods, struct cgroup_pods *found,
	struct error *err)
{
	cgroup_find_pods(found, pods->tree);
	if (watch_groups(pods, found, err)) {
		cgroup_pods_fini(found);
		cgroup_find_pods(found, pods->tree);
	}
}

static void rescan(struct pods *pods, uint64_t now_us, struct error *err)
{
	struct cgroup_pods found = { 0 };

	pods->scanned = true;
	pods->scanned_us = now_us;
	open_tree(pods);
	if (pods->tree < 0) {
		return;
	}
	search(pods, &found, err);
	keep_kubepods(pods, found.kubepods);
	merge(pods, &found);
	pods->skipped = found.skipped;
	cgroup_pods_fini(&found);
}

static void forget_pod(struct pods *pods, size_t index)
{
	pod_free(pods->items[index]);
	pods->count--;
	memmove(&pods->items[index], &pods->items[index + 1],
		(pods->count - index) * sizeof(struct pod *));
}

/* A group that is made anew under the same path may go unnoticed for a moment:
 * its kept files say ENODEV at the next sample. */
static bool scan_is_due(struct pods *pods, uint64_t now_us)
{
	uint64_t patience_us = pods->watch.fd >= 0 && pods->watch.watched > 0
		? PODS_BACKSTOP_US
		: PODS_RESCAN_US;

	return tree_watch_changed(&pods->watch) || !pods->scanned ||
		now_us - pods->scanned_us >= patience_us;
}

static void tell_skipped(struct report *out, const struct pods *pods,
	struct error *err)
{
	if (pods->tree >= 0) {
		out->vms_skipped = pods->skipped;
	}
	if (pods->skipped > 0) {
		(void)error_set(err, -E2BIG,
			"this node has more than %d pods; the rest is left out",
			REPORT_VMS_MAX);
	}
}

void pods_read(struct report *out, struct pods *pods, uint64_t now_us,
	bool with_memory, struct error *err)
{
	if (scan_is_due(pods, now_us)) {
		rescan(pods, now_us, err);
	}
	out->cgroup_mode = pods->mode;
	tell_skipped(out, pods, err);
	if (pods->kubepods != NULL) {
		psi_files_read(&out->kubepods, &pods->kubepods_files, err);
	}
	if (pods->count == 0) {
		return;
	}
	out->vms = xcalloc(pods->count, sizeof(out->vms[0]));
	for (size_t i = 0; i < pods->count;) {
		struct vm_pod *vm = &out->vms[out->vm_count];

		if (pod_read(vm, pods->items[i], err) == -ENODEV) {
			forget_pod(pods, i);
			continue;
		}
		if (with_memory) {
			pod_read_memory(vm, pods->items[i], out, err);
		}
		out->vm_count++;
		i++;
	}
}
