/* CSI drivers that must be on the node of a pod: NodeVolumeLimits with the gate
 * VolumeLimitScaling (objects/behaviours.h). A CSIDriver asks for it with
 * spec.preventPodSchedulingIfMissing; a CSINode lists the drivers that are
 * there. */
#pragma once

#include "scheduler/filter/volumes.h"

#include <stdbool.h>
#include <stddef.h>

/* Finds these drivers among those of the new volumes. */
void csi_drivers_prepare(struct volumes *volumes);

bool csi_drivers_are_there(const struct volumes *volumes,
	const struct node *node);

/* "d.example CSI driver is not installed on the node". One text serves all
 * nodes: if there are several such drivers, it names all of them, where
 * kube-scheduler names any that is missing. out holds size bytes. */
void csi_drivers_reason(char *out, size_t size, const struct volumes *volumes);
