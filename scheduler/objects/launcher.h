/* A launcher pod's part in a migration, and its container in which the guest
 * runs, `compute`.
 *
 * KubeVirt never restarts that container: a VM that starts again gets a new
 * pod. Times are in microseconds. Pure. */
#pragma once

#include "kube/json_value.h"

#include <stdbool.h>
#include <stdint.h>

/* LAUNCHER_UNKNOWN: it still runs, or its status has no times. */
#define LAUNCHER_UNKNOWN INT64_C(-1)

/* The pod has a launcher's label, which anyone who creates pods can write. */
bool launcher_has_label(const struct json_value *pod);

/* Unix time at which the container started; TIME_LONG_AGO: it does not run. pod
 * is a Pod object. */
int64_t launcher_started_us(const struct json_value *pod);

/* Its requests: CPU thousandths and bytes; 0: none. spec is the pod's. */
struct launcher_compute {
	int64_t cpu_milli, memory_bytes;
	/* The containers beside it that serve container disks. KubeVirt names
	 * them after the volume: "volumeNAME". */
	unsigned disks;
};
struct launcher_compute launcher_compute_of(const struct json_value *spec);

/* How long the container of a pod that ended ran; 0: it never ran. */
int64_t launcher_ran_us(const struct json_value *pod);

/* The pod is the target of a migration (label kubevirt.io/migrationJobUID) and
 * the VM does not run in it yet. The label stays on the pod. As of KubeVirt
 * 1.9, the annotation kubevirt.io/migration-target-ready-timestamp comes once
 * the guest runs here, and the label kubevirt.io/nodeName names the source's
 * node until then. */
bool launcher_is_target(const struct json_value *pod);
