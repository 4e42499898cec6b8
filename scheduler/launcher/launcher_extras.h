/* The needs of a VM beside its vCPUs and its memory: GetMemoryOverhead() of
 * KubeVirt 1.9, from VFIO devices on, and the threads of its disks. Pure. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "scheduler/launcher/launcher_amounts.h"

/* spec: of a VirtualMachineInstance. -EINVAL: amounts that no VM has. */
must_check int launcher_extras_read(struct launcher_needs *needs,
	const struct json_value *spec, struct error *err);
