#include "agent/pods.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/cgroup.h"
#include "agent/directory.h"
#include "agent/pod.h"
#include "agent/psi.h"
#include "lib/memory.h"

struct pods {
	int root; /* borrowed */
	enum cgroup_mode mode;
	int tree;	  /* the v2 tree, owned; -1 without one */
	bool is_searched; /* since the last failure */
	uint64_t searched_us;
	struct cgroup_watch watch;
	struct cgroup_paths watched; /* the paths in watch */
	size_t skipped;		     /* pods above REPORT_VMS_MAX */
	int kubepods_dir;	     /* owned; -1: none found */
	struct psi_files kubepods_files;
	struct pod **items; /* sorted by path; owned, and so is each */
	size_t count;
	uint64_t reports; /* so far */
	uint64_t opened;  /* pods so far */
};

struct pods *pods_new(int root)
{
	struct pods *pods = xcalloc(1, sizeof(*pods));

	pods->root = root;
	pods->tree = -1;
	pods->kubepods_dir = -1;
	cgroup_watch_init(&pods->watch);
	return pods;
}

static void close_kubepods(struct pods *pods)
{
	psi_files_fini(&pods->kubepods_files);
	directory_close(pods->kubepods_dir);
	pods->kubepods_dir = -1;
}

void pods_free(struct pods *pods)
{
	if (pods == NULL) {
		return;
	}
	close_kubepods(pods);
	cgroup_watch_fini(&pods->watch);
	cgroup_paths_fini(&pods->watched);
	for (size_t i = 0; i < pods->count; i++) {
		pod_free(pods->items[i]);
	}
	free(pods->items);
	directory_close(pods->tree);
	free(pods);
}

static void open_tree(struct pods *pods, struct error *err)
{
	pods->mode = cgroup_detect(pods->root);
	if (pods->tree < 0 &&
		(pods->mode == CGROUP_V2 || pods->mode == CGROUP_HYBRID)) {
		pods->tree = directory_open_at(pods->root,
			pods->mode == CGROUP_HYBRID ? "unified" : ".", err);
	}
}

static bool is_same_inode(int left, int right)
{
	struct stat l;
	struct stat r;

	return fstat(left, &l) == 0 && fstat(right, &r) == 0 &&
		l.st_ino == r.st_ino;
}

static void update_kubepods(struct pods *pods, const char *path,
	struct error *err)
{
	int dir = path == NULL ? -1 : directory_open_at(pods->tree, path, err);

	if (dir >= 0 && pods->kubepods_dir >= 0 &&
		is_same_inode(dir, pods->kubepods_dir)) {
		directory_close(dir);
		return;
	}
	close_kubepods(pods);
	pods->kubepods_dir = dir;
	psi_files_init(&pods->kubepods_files, dir);
}

/* Turns go round, so that each has as many pods as the others. */
static struct pod *open_pod(struct pods *pods, const struct cgroup_pod *found,
	struct error *err)
{
	struct pod *pod = pod_open(pods->tree, found, err);

	if (pod != NULL) {
		pod->turn = pods->opened++ % PODS_SLOW_EVERY;
	}
	return pod;
}

/* Both lists are sorted by path. A pod that is in both stays open. */
static void merge(struct pods *pods, const struct cgroup_pods *found,
	struct error *err)
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
			pod = open_pod(pods, want, err);
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

static bool is_watched(const struct pods *pods,
	const struct cgroup_paths *paths)
{
	bool same = pods->watch.fd >= 0 && pods->watched.count == paths->count;

	for (size_t i = 0; same && i < paths->count; i++) {
		same = strcmp(pods->watched.items[i], paths->items[i]) == 0;
	}
	return same;
}

/* True: other cgroups are watched than before, so a change between the search
 * and this call may have been missed. */
static bool watch(struct pods *pods, struct cgroup_paths *paths,
	struct error *err)
{
	if (is_watched(pods, paths)) {
		return false;
	}
	cgroup_paths_fini(&pods->watched);
	if (paths->count == 0 ||
		cgroup_watch_set(&pods->watch, pods->tree, paths->items,
			paths->count, err) < 0) {
		cgroup_watch_fini(&pods->watch);
		return false;
	}
	pods->watched = *paths;
	*paths = (struct cgroup_paths){ 0 };
	return true;
}

static int search(struct pods *pods, struct cgroup_pods *found,
	struct error *watch_err, struct error *err)
{
	int r = cgroup_find_pods(found, pods->tree, err);

	if (r == 0 && watch(pods, &found->parents, watch_err)) {
		cgroup_pods_fini(found);
		r = cgroup_find_pods(found, pods->tree, err);
	}
	return r;
}

static void update(struct pods *pods, uint64_t now_us, struct error *err)
{
	struct cgroup_pods found = { 0 };
	struct error why = { 0 };

	open_tree(pods, &why);
	if (pods->tree >= 0 && search(pods, &found, err, &why) == 0) {
		update_kubepods(pods, found.kubepods, &why);
		merge(pods, &found, &why);
		pods->skipped = found.skipped;
		cgroup_pods_fini(&found);
	}
	pods->is_searched = why.code == 0;
	pods->searched_us = now_us;
	if (why.code != 0) {
		(void)error_set(err, why.code, "%s", why.text);
	}
}

static void forget_pod(struct pods *pods, size_t index)
{
	pod_free(pods->items[index]);
	pods->count--;
	memmove(&pods->items[index], &pods->items[index + 1],
		(pods->count - index) * sizeof(struct pod *));
}

/* If a cgroup is re-created under the same path and the search misses it, its
 * open files return ENODEV at the next sample. */
static bool search_is_due(struct pods *pods, uint64_t now_us)
{
	uint64_t interval_us = pods->watch.fd >= 0 && pods->watch.watched > 0
		? PODS_BACKSTOP_US
		: PODS_SEARCH_US;

	return cgroup_watch_changed(&pods->watch) || !pods->is_searched ||
		now_us - pods->searched_us >= interval_us;
}

static void report_skipped(struct report *out, const struct pods *pods,
	struct error *err)
{
	if (pods->tree >= 0) {
		out->vms_skipped = pods->skipped;
	}
	if (pods->skipped > 0) {
		(void)error_set(err, -E2BIG,
			"the node has more than %d pods; the rest is omitted",
			REPORT_VMS_MAX);
	}
}

static int read_pod(struct vm_pod *out, struct pod *pod, uint64_t turn,
	const struct report *node, struct error *err)
{
	int r = pod_read(out, pod, err);

	if (r == 0 && (!pod->is_known || pod->turn == turn)) {
		pod_read_slow(out, pod, node, err);
		pod->is_known = true;
	}
	return r;
}

void pods_read(struct report *out, struct pods *pods, uint64_t now_us,
	struct error *err)
{
	const uint64_t turn = pods->reports++ % PODS_SLOW_EVERY;

	if (search_is_due(pods, now_us)) {
		update(pods, now_us, err);
	}
	out->cgroup_mode = pods->mode;
	out->slow_every = PODS_SLOW_EVERY;
	report_skipped(out, pods, err);
	if (pods->kubepods_dir >= 0) {
		psi_files_read(&out->kubepods, &pods->kubepods_files, err);
	}
	if (pods->count == 0) {
		return;
	}
	out->vms = xcalloc(pods->count, sizeof(out->vms[0]));
	for (size_t i = 0; i < pods->count;) {
		struct vm_pod *vm = &out->vms[out->vm_count];

		if (read_pod(vm, pods->items[i], turn, out, err) == -ENODEV) {
			forget_pod(pods, i);
			continue;
		}
		out->vm_count++;
		i++;
	}
}
