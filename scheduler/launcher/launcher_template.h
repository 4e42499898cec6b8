/* The parts of a launcher_vm, read: VMs that ask for the same share them. Each
 * is read once, and again after the settings changed. */
#pragma once

#include "lib/interner.h"
#include "lib/map.h"
#include "scheduler/launcher/launcher_amounts.h"
#include "scheduler/launcher/launcher_settings.h"
#include "scheduler/launcher/launcher_vm.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>

struct launcher_template {
	unsigned references;
	/* Owned: a pod with the constraints of the VMI and the KubeVirt CR:
	 * node_selector, required, preferred, affinity, tolerations, spread. */
	struct pod *pod;
	/* spec.domain.cpu.model is host-model. */
	bool is_host_model;
	/* The requests for the VM as it is now, and as its guest was before
	 * CPUs or memory were hotplugged. */
	struct launcher_amounts asked, current;
};

/* Zeroed but for the interner: ready. */
struct launcher_templates {
	struct interner *interner; /* borrowed */
	struct launcher_settings settings;
	struct map by_parts; /* the parts -> struct launcher_template */
};

/* A reference; NULL: the parts make no pod, with one sentence why. */
struct launcher_template *launcher_templates_get(
	struct launcher_templates *templates,
	const struct launcher_settings *settings, const struct launcher_vm *vm,
	struct buffer *why);
void launcher_template_drop(struct launcher_template *parts); /* NULL is fine */
void launcher_templates_fini(struct launcher_templates *templates);
