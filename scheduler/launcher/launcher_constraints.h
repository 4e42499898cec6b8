/* Where a VM's launcher pod may run, as services/template.go of
 * KubeVirt renders it. */
#pragma once

#include "lib/json.h"
#include "scheduler/launcher/launcher_derivation.h"

/* Writes the members nodeSelector, affinity, tolerations and
 * topologySpreadConstraints of the pod's spec. */
void launcher_constraints_write(struct derivation *d, struct json *j);
