/* The parts of a launcher_vm, read: VMs that ask for the same share them. Each
 * is read once, and again after the settings changed. For the event loop
 * alone. */
#pragma once

#include "lib/buffer.h"
#include "lib/interner.h"
#include "lib/map.h"
#include "scheduler/launcher/launcher_amounts.h"
#include "scheduler/launcher/launcher_settings.h"
#include "scheduler/launcher/launcher_vm.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>

struct launcher_template {
	unsigned references; /* of its users; and of the cache */
	uint32_t parts;	     /* held */
	bool is_used;	     /* since the last sweep */
	/* Owned: a pod with the constraints of the VMI and the KubeVirt CR:
	 * node_selector, required, preferred, affinity, tolerations, spread.
	 * NULL: the parts make no pod. */
	struct pod *pod;
	char *why_not;	    /* owned: the reason for that */
	bool is_host_model; /* spec.domain.cpu.model is host-model */
	const char *pages;  /* "hugepages-2Mi"; static; NULL: none */
	/* Each as a request, 0 or 1. The others stay those of a running pod. */
	int64_t kvm, vhost_net, iommufd;
	/* Its containers that serve container disks, and the requests of each
	 * of them. */
	unsigned disks;
	struct launcher_support_amounts disk;
	/* The requests for the VM as it is now, and as its guest was before
	 * CPUs or memory were hotplugged; zeroed: they are not known. */
	struct launcher_amounts asked, before;
};

/* Zeroed but for the interner: ready. */
struct launcher_templates {
	struct interner *interner; /* borrowed */
	struct launcher_settings settings;
	struct map by_parts; /* the id of the parts -> its template */
};

/* A reference; NULL: the parts make no pod. Appends one sentence why. */
struct launcher_template *launcher_templates_get(
	struct launcher_templates *templates,
	const struct launcher_settings *settings, const struct launcher_vm *vm,
	struct buffer *why);
void launcher_template_drop(struct launcher_template *parts,
	struct interner *interner); /* NULL is fine */

/* Forgets templates that nobody asked for since the last sweep. To be called
 * every few minutes. */
void launcher_templates_sweep(struct launcher_templates *templates);

/* References may outlive it. Zeroed is fine. */
void launcher_templates_fini(struct launcher_templates *templates);
