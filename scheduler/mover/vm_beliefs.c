#include "scheduler/mover/vm_beliefs.h"

#include "lib/log.h"
#include "scheduler/cache/cache.h"
#include "scheduler/kubevirt/kubevirt.h"

#include <string.h>

void vm_beliefs_init(struct cache *cache)
{
	cache_judge_by(cache,
		&(struct vm_claims){ .basis = VM_CLAIMS_UNPROVEN });
}

static bool find(void *owner, struct vm_facts *out, const char *namespace,
	const char *vmi_uid)
{
	const struct kubevirt *kubevirt = owner;
	const struct vmi *vmi = kubevirt_vmi(kubevirt, vmi_uid);

	if (vmi == NULL || strcmp(vmi->namespace, namespace) != 0) {
		return false;
	}
	*out = (struct vm_facts){
		.cpus = vmi->cpus,
		.is_dedicated = vmi->is_dedicated,
		.active_pods = vmi->active_pods,
	};
	return true;
}

static void tell(enum vm_claims_basis basis)
{
	if (basis == VM_CLAIMS_VMIS) {
		log_info("pods are VMs if KubeVirt has a VMI of them", LOG_END);
	} else {
		log_warning("VMIs are not known: VMs count as measured",
			LOG_END);
	}
}

void vm_beliefs_tick(struct cache *cache, struct kubevirt *kubevirt)
{
	const struct vm_claims claims = {
		.basis = kubevirt_knows_vmis(kubevirt) ? VM_CLAIMS_VMIS
						       : VM_CLAIMS_UNPROVEN,
		.find = find,
		.owner = kubevirt,
	};

	if (claims.basis != cache->claims.basis) {
		tell(claims.basis);
	}
	cache_judge_by(cache, &claims);
	(void)cache_judge_next(cache);
}
