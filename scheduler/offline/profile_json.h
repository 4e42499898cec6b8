/* Reads the profiles of VMs that `score --in` is given in "vms". */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "lib/map.h"
#include "scheduler/objects/pod.h"
#include "scheduler/objects/usage.h"

enum { PROFILES_MAX = 500000 };

/* A zeroed one holds nothing. */
struct profiles {
	struct map by_identity; /* namespace/name to a struct vm_profile */
};

/* list is an array of {"namespace","name","seconds","mean_cores"} and
 * "stdev_cores" or "p95_cores"; NULL is none. *out is for profiles_fini() on
 * failure too. -EBADMSG, -ERANGE, -E2BIG: what is wrong with which. */
must_check int profiles_read(struct profiles *out, const struct value *list,
	struct error *err);
void profiles_fini(struct profiles *profiles);

/* Gives the pod its VM's past, if there is one. */
void profiles_apply(const struct profiles *profiles, struct pod *pod);
