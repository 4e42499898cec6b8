/* How many volumes CSI drivers attach to a node: kube-scheduler's
 * NodeVolumeLimits. */
#pragma once

#include "scheduler/cluster/node.h"
#include "scheduler/filter/volumes.h"

#include <stdbool.h>

/* Sorts the attachments by node. */
void volume_limits_prepare(struct volumes *volumes);

/* What the pod brings can be attached there beside what is. */
bool volume_limits_hold(struct volumes *volumes, const struct node *node);
