/* The next pod of a VM as a test wants it: the one that runs, without
 * the selectors that a migration gave it. Include it in one file of a test. */
#pragma once

#include "scheduler/kubevirt/kubevirt.h"

#include <stdlib.h>

/* NULL: it is known. */
static const char *fake_no_next_pod;
/* A key that KubeVirt selects with "true"; NULL: none. */
static const char *fake_demand;

/* The VM does not require the host name that its last migration chose. */
static inline void free_hostname(struct next_pod *out,
	const struct pod *running)
{
	struct interner *interner = running->interner;
	struct labels rest;

	if (interner == NULL ||
		labels_get(&running->labels,
			interner_find(interner,
				"kubevirt.io/migrationJobUID")) == 0) {
		return;
	}
	rest = labels_without(&running->node_selector,
		interner_find(interner, "kubernetes.io/hostname"));
	out->selector = labels_copy(&rest, interner, 0);
	out->pod.node_selector = out->selector;
	free(rest.slots);
}

bool kubevirt_next_pod(const struct kubevirt *kubevirt, struct next_pod *out,
	const struct pod *running, const struct labels *source,
	struct buffer *why)
{
	static char nowhere[1];

	assert_non_null(kubevirt);
	(void)source;
	*out = (struct next_pod){ 0 };
	if (fake_no_next_pod != NULL) {
		buffer_text(why, fake_no_next_pod);
		return false;
	}
	out->pod = *running;
	out->pod.node_name = nowhere;
	free_hostname(out, running);
	if (fake_demand != NULL) {
		out->selector = labels_copy(&running->node_selector,
			running->interner, 1);
		labels_put(&out->selector, running->interner, fake_demand,
			"true");
		out->pod.node_selector = out->selector;
	}
	return true;
}
