/* Limits of CSI drivers on the volumes of a node: kube-scheduler's
 * NodeVolumeLimits. */
#pragma once

#include "scheduler/cluster/node.h"
#include "scheduler/filter/volumes.h"

#include <stdbool.h>

/* Sorts the attachments by node. */
void volume_limits_prepare(struct volumes *volumes);

/* The new volumes of the pod do not exceed the limits of the node. */
bool volume_limits_allow(struct volumes *volumes, const struct node *node);
