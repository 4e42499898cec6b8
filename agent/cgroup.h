/* The cgroup tree of a node: its version, the cgroups of the pods, and changes.
 *
 * The names depend on kubelet's cgroup driver. systemd:
 *   kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<uid>.slice
 * with _ for the dashes of the uid, and guaranteed pods directly below
 * kubepods.slice. cgroupfs: kubepods/burstable/pod<uid>. With kubelet's
 * --cgroup-root both are somewhere below another cgroup, and the names of the
 * slices have a prefix ("kubelet-"). */
#pragma once

#include "lib/error.h"
#include "proto/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One pod's cgroup. */
struct cgroup_pod {
	char *path; /* below the root, owned */
	char uid[REPORT_UID_MAX];
	uint64_t
		inode; /* differs after the cgroup was removed and re-created */
};

/* Paths below the root. */
struct cgroup_paths {
	char **items; /* owned, and so is each */
	size_t count, capacity;
};

struct cgroup_pods {
	char *kubepods; /* path below the root, owned; NULL: none found */
	struct cgroup_pod *pods; /* sorted by path, owned */
	size_t count;		 /* at most REPORT_VMS_MAX */
	size_t capacity;
	size_t skipped;		     /* pods above this maximum */
	struct cgroup_paths parents; /* kubepods and its QoS classes */
};

/* v2 if root has cgroup.controllers, hybrid if root/unified has it, v1 if root
 * has only directories of controllers. The file system's type does not matter,
 * so tests can use a plain directory. */
enum cgroup_mode cgroup_detect(int root);

/* Parses the pod uid in a cgroup's name to the form that Kubernetes prints:
 * with dashes, or 32 digits for a static pod. out has REPORT_UID_MAX bytes.
 * Pure. */
bool cgroup_parse_pod(char *out, const char *name);

/* "kubepods", "kubepods.slice", "kubelet-kubepods.slice". Pure. */
bool cgroup_is_kubepods(const char *name);

/* Searches for kubepods in the first four levels below root (of a v2 tree) and
 * chooses the one nearest to the root. On the same level it chooses the one
 * with the most pods, because a change of the driver leaves an empty one
 * behind. Fails if an existing directory cannot be read (-EMFILE, -ENOMEM,
 * -EIO). */
must_check int cgroup_find_pods(struct cgroup_pods *out, int root,
	struct error *err);

void cgroup_paths_fini(struct cgroup_paths *paths); /* zeroed is fine */
void cgroup_pods_fini(struct cgroup_pods *pods); /* NULL and zeroed are fine */

/* Detects changes of a cgroup tree with inotify, which works on cgroupfs.
 *
 * The caller polls at each sample, so no event loop is needed. Events can be
 * lost, so the watch only says that something changed, and the caller searches
 * the tree again. */
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
