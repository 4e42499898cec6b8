/* The needs of a VM, read from its spec: the input of
 * launcher/launcher_amounts.h. Pure. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "scheduler/launcher/launcher_amounts.h"

#include <stdbool.h>

struct launcher_reading {
	struct launcher_needs needs;
	const char *pages; /* "2Mi" or "1Gi", borrowed; NULL: ordinary memory */
	int64_t ephemeral_bytes; /* requested beside KubeVirt's own; 0: none */
	bool has_network;	 /* needs /dev/net/tun */
	bool has_virtio_net;	 /* needs vhost-net, if nothing is emulated */
	const char *model;	 /* of the CPU; borrowed; "": none is named */
	bool is_host_model;	 /* host-model, or none is named */
};

/* spec: of a VirtualMachineInstance. -EINVAL: it has no memory, or amounts that
 * no VM has. */
must_check int launcher_needs_read(struct launcher_reading *out,
	const struct json_value *spec, struct error *err);

/* The CPUs that the launcher pod of a VMI may have for its VM at most: of its
 * vCPUs as specified or as they are now, its I/O threads, and the two that an
 * isolated emulator takes. 0: the VMI says nothing of its CPUs, or amounts that
 * no VM has. object: a VirtualMachineInstance as the API server has it. */
double launcher_needs_cpus(const struct json_value *object);
