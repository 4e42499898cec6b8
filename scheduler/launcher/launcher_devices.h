/* The devices that a VM's launcher pod requests, as services/template.go of
 * KubeVirt 1.9 renders them. */
#pragma once

#include "lib/json.h"
#include "scheduler/launcher/launcher_derivation.h"

/* Writes them as members of the requests of `compute`. */
void launcher_devices_write(struct derivation *d, struct json *j);
