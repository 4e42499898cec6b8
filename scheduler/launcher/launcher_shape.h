/* The launcher pod of a VM that does not exist: what it would request, and
 * where it may run.
 *
 * The pod is as KubeVirt 1.9's virt-controller creates it for a VM on amd64
 * that sets its vCPUs and spec.domain.memory.guest and nothing else: with a
 * graphics device, a log of the serial console, the CPU model host-model, a
 * network without a binding plugin, and disks of any kind. It has no
 * constraints beside those of its kind, and tolerates no taint. */
#pragma once

#include "lib/interner.h"
#include "scheduler/launcher/launcher_settings.h"
#include "scheduler/objects/pod.h"

#include <stddef.h>
#include <stdint.h>

/* How a VM gets its memory and CPUs. */
enum launcher_kind {
	LAUNCHER_PLAIN,
	LAUNCHER_HUGE_2MI, /* spec.domain.memory.hugepages.pageSize */
	LAUNCHER_HUGE_1GI,
	LAUNCHER_DEDICATED, /* spec.domain.cpu.dedicatedCpuPlacement */
	LAUNCHER_KINDS,
};

/* "plain", "hugepages-2Mi", "hugepages-1Gi", "dedicated-cpus". */
const char *launcher_kind_name(enum launcher_kind kind);

/* The resource of its pages; NULL: ordinary memory. */
const char *launcher_kind_pages(enum launcher_kind kind);

/* The name of the pod, which is in no namespace. No object has this name. */
#define LAUNCHER_NAME "~"

/* Larger ones are not asked for. */
enum { LAUNCHER_VCPUS_MAX = 512, LAUNCHER_GIB_MAX = 16384 };

struct launcher_size {
	unsigned vcpus;	     /* 1 to LAUNCHER_VCPUS_MAX */
	unsigned memory_gib; /* of the guest, 1 to LAUNCHER_GIB_MAX */
};

struct launcher_shape {
	enum launcher_kind kind;
	struct launcher_settings settings;
	struct pod *pod; /* owned; read with POD_UNSCHEDULED */
	ptrdiff_t pages; /* index in its requests.scalars; -1: none */
};

/* The pod has this size. It is read from JSON, so that it means what such a pod
 * means to the scheduler. */
void launcher_shape_init(struct launcher_shape *shape,
	struct interner *interner, enum launcher_kind kind,
	struct launcher_size size, const struct launcher_settings *settings);
void launcher_shape_fini(struct launcher_shape *shape); /* zeroed is fine */

/* Gives the pod another size, times copies: what so many VMs request together.
 * The pod's `nonzero` requests, which no filter reads, stay. Uses no interner,
 * so that any thread may call it. copies: 1 to 1000. */
void launcher_shape_resize(struct launcher_shape *shape,
	struct launcher_size size, unsigned copies);
