/* The cgroup tree of a node: which kind it is, and where Kubernetes put pods.
 *
 * kubelet names the groups by its driver. systemd:
 *   kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<uid>.slice
 * with _ for the uid's dashes, guaranteed pods right below kubepods.slice;
 * cgroupfs: kubepods/burstable/pod<uid>. --cgroup-root of kubelet puts both
 * anywhere below another group and prefixes the slices' names ("kubelet-"). */
#pragma once

#include "proto/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One pod's cgroup. */
struct cgroup_pod {
	char *path; /* below the root, owned */
	char uid[REPORT_UID_MAX];
	uint64_t inode; /* another one is another cgroup, though named alike */
};

struct cgroup_pods {
	char *kubepods; /* its path below the root; NULL: there is none; owned */
	struct cgroup_pod *pods; /* sorted by path, owned */
	size_t count;		 /* at most REPORT_VMS_MAX */
	size_t capacity;
	size_t skipped; /* pods beyond that */
	/* The groups that hold pods or classes of pods; owned, and so is each. */
	char **groups;
	size_t group_count;
};

/* v2 if cgroup.controllers is in root, hybrid if it is in unified/, v1 if only
 * controllers' directories are there. Decided by files, not by the kind of the
 * file system: a tree in a plain directory counts. */
enum cgroup_mode cgroup_detect(int root);

/* The pod uid in a cgroup's name, as Kubernetes prints it: with dashes, or 32
 * digits for a static pod. out holds REPORT_UID_MAX bytes. Pure. */
bool cgroup_parse_pod(char *out, const char *name);

/* "kubepods", "kubepods.slice", "kubelet-kubepods.slice". Pure. */
bool cgroup_is_kubepods(const char *name);

/* Looks for kubepods in the first four levels below root (of a v2 tree) and
 * takes the one nearest to the root, among equals the one with the most pods:
 * changing the driver leaves an empty one behind. */
void cgroup_find_pods(struct cgroup_pods *out, int root);

void cgroup_pods_fini(struct cgroup_pods *pods); /* NULL and zeroed are fine */
