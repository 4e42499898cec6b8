/* The node selector of a VM's launcher pod, as
 * services/nodeselectorrenderer.go of KubeVirt renders it. */
#pragma once

#include "lib/json.h"
#include "scheduler/launcher/launcher_derivation.h"

/* Writes the member nodeSelector of the pod's spec. A key may occur twice: the
 * last one counts. */
void launcher_selector_write(struct derivation *d, struct json *j);
