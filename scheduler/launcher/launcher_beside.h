/* The containers beside `compute` in a VM's launcher pod, by the rules of
 * KubeVirt 1.9: of disks, of the console's log, of hooks and network bindings,
 * and of shared folders. Pure.
 *
 * Left out are the init containers that end before `compute` starts: they
 * request less than the containers that follow. */
#pragma once

#include "kube/json_value.h"
#include "lib/json.h"
#include "scheduler/launcher/launcher_settings.h"

#include <stdbool.h>
#include <stdint.h>

struct launcher_beside {
	unsigned counts[LAUNCHER_SUPPORTS];
	int64_t binding_bytes; /* that network bindings add to `compute` */
};

/* meta and spec: of a VirtualMachineInstance; NULL is fine. */
void launcher_beside_read(struct launcher_beside *out,
	const struct json_value *meta, const struct json_value *spec,
	const struct launcher_settings *settings);

/* Their requests together: CPU millionths and bytes. is_guaranteed: the pod's
 * class, or its CPUs are its own. */
struct launcher_support_amounts launcher_beside_amounts(
	const struct launcher_beside *beside, bool is_guaranteed,
	const struct launcher_settings *settings);

/* Writes them as elements of the pod's containers; launcher_beside_write_log()
 * as an element of its init containers. */
void launcher_beside_write(struct json *j, const struct launcher_beside *beside,
	bool is_guaranteed, const struct launcher_settings *settings);
void launcher_beside_write_log(struct json *j,
	const struct launcher_beside *beside, bool is_guaranteed,
	const struct launcher_settings *settings);
