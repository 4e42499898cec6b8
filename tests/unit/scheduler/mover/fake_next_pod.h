/* The next pod of a VM as a test wants it: the one that runs, without
 * the selectors that a migration gave it. Include it in one file of a test. */
#pragma once

#include "scheduler/kubevirt/kubevirt.h"

/* NULL: it is known. */
static const char *fake_no_next_pod;

bool kubevirt_next_pod(const struct kubevirt *kubevirt, struct next_pod *out,
	const struct pod *running, const struct labels *source,
	struct buffer *why)
{
	static char nowhere[1];

	(void)kubevirt;
	(void)source;
	*out = (struct next_pod){ 0 };
	if (fake_no_next_pod != NULL) {
		buffer_text(why, fake_no_next_pod);
		return false;
	}
	out->pod = *running;
	out->pod.node_name = nowhere;
	out->pod.node_selector = (struct labels){ 0 };
	return true;
}
