/* Refuses the manifests that the API server would not admit, by the rules of
 * its validation of pods (k8s.io/kubernetes 1.36, pkg/apis/core/validation).
 *
 * No pod of a decision breaks these rules, because the API server admitted it.
 * The parts that constrain where a pod goes are checked: labels, nodeSelector,
 * affinity, tolerations and topologySpreadConstraints. They have these names in
 * a VirtualMachineInstance, too, for which KubeVirt has the same rules. Pure;
 * the time is in proportion to the manifest. */
#pragma once

#include "lib/error.h"
#include "scheduler/answers/spec.h"

/* A spec with an object. -EINVAL: the sentence names the field and says what is
 * wrong with it. */
must_check int manifest_check(const struct placement_spec *spec,
	struct error *err);
