/* Reads the VM profiles in "vms" of the input of `score --in`. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "lib/map.h"
#include "scheduler/forecast/usage.h"
#include "scheduler/objects/pod.h"

enum { PROFILE_JSON_MAX = 500000 };

/* Zeroed is empty. */
struct profile_set {
	struct map by_identity; /* namespace/name to a struct usage */
};

/* Reads the member "vms" of input, if there is one: an array of
 * {"namespace","name","seconds","mean_cores"} and "stdev_cores" or "p95_cores".
 * *out needs profile_json_fini() after a failure too. -EBADMSG, -ERANGE,
 * -E2BIG: the error names the VM. */
must_check int profile_json_read(struct profile_set *out,
	const struct json_value *input, struct error *err);
void profile_json_fini(struct profile_set *profiles);

/* Sets the pod's usage to its VM's profile, if there is one. */
void profile_json_apply(const struct profile_set *profiles, struct pod *pod);
