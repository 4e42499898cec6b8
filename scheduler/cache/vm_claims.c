#include "scheduler/cache/vm_claims.h"

#include "kube/time.h"
#include "lib/memory.h"
#include "scheduler/forecast/forecast.h"

#include <string.h>

/* A pod that claims a VMI, with what decides on its turn. */
struct claimant {
	const struct pod *pod; /* NULL: none */
	bool is_named;
	int64_t bound_us;
};

/* UIDs are UUIDs: none is a part of another. A pod that the API server does not
 * yet show on its node is the newest. */
static struct claimant claimant_of(const struct vm_facts *facts,
	const struct pod *pod)
{
	return (struct claimant){
		.pod = pod,
		.is_named = facts->active_pods != NULL && *pod->uid != '\0' &&
			strstr(facts->active_pods, pod->uid) != NULL,
		.bound_us = pod->bound_wall_us == TIME_LONG_AGO
			? INT64_MAX
			: pod->bound_wall_us,
	};
}

static bool comes_before(const struct claimant *a, const struct claimant *b)
{
	if (a->is_named != b->is_named) {
		return a->is_named;
	}
	if (a->bound_us != b->bound_us) {
		return a->bound_us < b->bound_us;
	}
	return strcmp(a->pod->uid, b->pod->uid) < 0;
}

/* Keeps the first ones, in order. */
static void consider(struct claimant first[VM_CLAIMS_PODS],
	struct claimant claimant)
{
	for (size_t i = 0; i < VM_CLAIMS_PODS; i++) {
		struct claimant other = first[i];

		if (other.pod == NULL || comes_before(&claimant, &other)) {
			first[i] = claimant;
			claimant = other;
		}
		if (claimant.pod == NULL) {
			return;
		}
	}
}

static void choose(struct vm_verdict *verdict, const struct vm_facts *facts,
	const struct vm_pods *pods)
{
	struct claimant first[VM_CLAIMS_PODS] = { 0 };

	for (size_t i = 0;
		pods != NULL && i < pods->count && i < VM_CLAIMS_CONSIDERED;
		i++) {
		consider(first, claimant_of(facts, pods->list[i]));
	}
	for (size_t i = 0; i < VM_CLAIMS_PODS; i++) {
		verdict->pods[i] = first[i].pod;
	}
}

static struct vm_verdict for_all(struct pod_belief belief)
{
	return (struct vm_verdict){ .belief = belief, .is_for_all = true };
}

struct vm_verdict vm_claims_judge(const struct vm_claims *claims,
	const struct vm_pods *pods, const char *namespace, const char *vmi_uid)
{
	struct vm_verdict verdict = { 0 };
	struct vm_facts facts = { 0 };

	if (claims->basis == VM_CLAIMS_STATED) {
		return for_all(pod_belief_stated);
	}
	if (claims->basis == VM_CLAIMS_UNPROVEN) {
		return for_all(pod_belief_unproven);
	}
	if (*vmi_uid == '\0' ||
		!claims->find(claims->owner, &facts, namespace, vmi_uid)) {
		return for_all((struct pod_belief){ 0 });
	}
	verdict.belief = (struct pod_belief){
		.is_vm = true,
		.may_be_dedicated = facts.is_dedicated || facts.cpus == 0,
		.is_bounded = true,
		.vcpus_max = facts.cpus > 0 ? facts.cpus : FORECAST_VCPUS_MAX,
	};
	choose(&verdict, &facts, pods);
	return verdict;
}

struct pod_belief vm_verdict_of(const struct vm_verdict *verdict,
	const struct pod *pod)
{
	bool is_believed = verdict->is_for_all;

	for (size_t i = 0; i < VM_CLAIMS_PODS; i++) {
		is_believed |= verdict->pods[i] == pod;
	}
	return is_believed ? verdict->belief : (struct pod_belief){ 0 };
}
