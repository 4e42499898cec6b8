/* Which VMs are kin: see forecast/kin.h. Pure. */
#pragma once

#include "scheduler/forecast/kin.h"
#include "scheduler/objects/pod.h"

/* The kin of a VM's launcher pod: by size, which is vCPUs and memory, and by
 * labels. KubeVirt gives the pod the labels of the VM's template. These tie,
 * the first that is there, and the size if none is:
 * - kubevirt.io/vmpool: of a VirtualMachinePool, by KubeVirt's documentation
 * - app.kubernetes.io/instance, with app.kubernetes.io/name and
 *   app.kubernetes.io/component
 * - app.kubernetes.io/name, with app.kubernetes.io/component
 * - app
 * Zeroed for other pods. */
struct kin_keys pod_kin(const struct pod *pod);
