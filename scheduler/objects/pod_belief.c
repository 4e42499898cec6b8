#include "scheduler/objects/pod_belief.h"

#include "scheduler/forecast/forecast.h"
#include "scheduler/forecast/model.h"
#include "scheduler/objects/pod.h"

#include <math.h>

const struct pod_belief pod_belief_stated = {
	.is_vm = true,
	.may_be_dedicated = true,
	.vcpus_max = FORECAST_VCPUS_MAX,
};

const struct pod_belief pod_belief_unproven = {
	.is_vm = true,
	.is_unproven = true,
	.may_be_dedicated = true,
	.is_bounded = true,
	.vcpus_max = FORECAST_VCPUS_MAX,
};

static bool is_dedicated(const struct pod *pod, const struct pod_belief *belief)
{
	return pod->is_launcher && belief->is_vm && pod->states_dedicated &&
		belief->may_be_dedicated;
}

static double vcpus_by(const struct pod *pod, const struct pod_belief *belief)
{
	double most = belief->vcpus_max;

	if (!pod->is_launcher || !belief->is_vm) {
		return 0;
	}
	if (belief->is_bounded && is_dedicated(pod, belief)) {
		most = fmin(most, (double)pod->requests.cpu_milli / 1000);
	}
	return fmin(pod->stated_vcpus, most);
}

void pod_belief_apply(struct pod *pod, const struct pod_belief *belief)
{
	double requested = (double)pod->requests.cpu_milli / 1000;

	pod->belief = *belief;
	pod->is_vm = pod->is_launcher && belief->is_vm;
	pod->is_dedicated = is_dedicated(pod, belief);
	pod->vcpus = vcpus_by(pod, belief);
	pod->expected_cores = pod->is_vm ? pod->vcpus * MODEL_SHARE
					 : fmin(requested, FORECAST_VCPUS_MAX);
}

bool pod_belief_holds(const struct pod *pod, const struct pod_belief *belief)
{
	return pod->belief.is_vm == belief->is_vm &&
		pod->belief.is_unproven == belief->is_unproven &&
		pod->belief.is_bounded == belief->is_bounded &&
		pod->is_dedicated == is_dedicated(pod, belief) &&
		pod->vcpus == vcpus_by(pod, belief);
}
