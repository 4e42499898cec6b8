/* The VMs of a node: a model of each VM, and the sums that decisions read.
 *
 * A VM is "seen" if the node's load lists it. The launcher of a VM that is on
 * its way to the node is idle and says nothing of the VM: its use is not
 * learnt, and the use that its source showed counts.
 *
 * Before it is measured, no VM is expected to use more than the cores of its
 * node, unless it is read from a file, where it is what it says. A VM that
 * nothing proves (see cache/vm_claims.h) counts by its measured use alone once
 * it is measured and was bound FORECAST_UNSEEN_US ago: its author may have made
 * up the vCPUs and the announcement.
 *
 * All times are on one clock of the caller. A load is borrowed for the call.
 * Pure. */
#pragma once

#include "proto/load.h"
#include "scheduler/forecast/forecast.h"
#include "scheduler/forecast/kin_sums.h"
#include "scheduler/forecast/model.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A VM's pod on the node. */
struct node_vm {
	/* A decision reads the members before the model, of all VMs that
	 * start: they share cache lines. */
	struct forecast_charge charge;
	bool is_dedicated; /* dedicated CPUs: not in the sums */
	bool is_arriving;  /* a migration's target: the VM runs elsewhere */
	bool is_unproven, is_bounded; /* see struct pod_belief */
	bool is_by_measure;	      /* counts by its measured use alone */
	double vcpus;	      /* of the VM; the model's are those that count */
	struct model_sum sum; /* of this VM alone */
	struct model_vm model;
	struct kin_keys kin_keys;
	struct kin_figures kin; /* as last learnt */
	char uid[REPORT_UID_MAX];
	const struct announcement *announced; /* borrowed of the pod; or NULL */
	size_t load_index; /* its position in the last load */
};

/* Zeroed: no VMs. */
struct node_vms {
	struct node_vm *list; /* owned; in no order */
	size_t count, capacity;
	double cores;	   /* of the node; 0: not known */
	int64_t newest_us; /* the newest bound_us */
	/* VMs without dedicated CPUs that announce their use, and the unix time
	 * at 0 of the clock of all other times. */
	unsigned announced_count;
	unsigned arriving_count; /* targets of unfinished migrations */
	int64_t wall_offset_us;
	struct model_sum seen, unseen;
	struct kin_sums kin;	  /* of all VMs without dedicated CPUs */
	struct model_prior prior; /* with which these were summed */
	/* The dedicated CPUs, and their last measured use. */
	double dedicated_cores, dedicated_used;
};

void node_vms_fini(struct node_vms *vms);

void node_vms_add(struct node_vms *vms, const struct pod *pod,
	int64_t bound_us);
/* Something else is believed of a pod that counts as a VM as before. */
void node_vms_believe(struct node_vms *vms, const struct pod *pod);
/* An unknown uid is fine. */
void node_vms_remove(struct node_vms *vms, const char *uid);

/* The node has this many cores. 0: not known. */
void node_vms_set_cores(struct node_vms *vms, double cores);

/* Observes all VMs up to until_us. */
void node_vms_set_load(struct node_vms *vms, const struct node_load *load,
	int64_t until_us);
/* Observes one VM, whose pod was added after the load arrived. */
void node_vms_set_load_of(struct node_vms *vms, const char *uid,
	const struct node_load *load, int64_t until_us);
/* Replaces the usage of a VM, if the new usage has more seconds of observation.
 * It includes observations of this pod. */
void node_vms_update_profile(struct node_vms *vms, const char *uid,
	const struct usage *usage);

/* Adds the expected use of the unseen VMs. These VMs start up, or their agent
 * cannot see VMs. */
void node_vms_add_expected(const struct node_vms *vms, struct model_prior prior,
	int64_t now_us, struct model_forecast *sum);

/* Takes over what the table knows of the VMs' kin. */
void node_vms_learn_kin(struct node_vms *vms, const struct kin_table *kin);

/* The prior of a VM, with what its kin use. */
static inline struct model_prior node_vm_prior(const struct node_vm *vm,
	struct model_prior prior)
{
	prior.share += vm->kin.more;
	return prior;
}

/* The cores by which announcements raise the expected use of the seen VMs and
 * of the unseen VMs. Nearly always 0 and 0, and cheap then. */
struct node_vms_announced {
	double seen, unseen;
};
struct node_vms_announced node_vms_sum_announced(const struct node_vms *vms,
	struct model_prior prior, int64_t now_us);
static inline struct node_vms_announced node_vms_announced(
	const struct node_vms *vms, struct model_prior prior, int64_t now_us)
{
	struct node_vms_announced none = { 0 };

	if (vms->announced_count == 0) {
		return none;
	}
	return node_vms_sum_announced(vms, prior, now_us);
}

/* The forecast of a VM for the choice of moves, with its announcement. False:
 * no such VM. */
bool node_vms_forecast(const struct node_vms *vms, const char *uid,
	struct model_prior prior, int64_t now_us, struct model_forecast *out);

/* Bytes that VMs will use and that the load does not contain yet. */
double node_vms_memory(const struct node_vms *vms, int64_t now_us);

/* NULL: no such VM. */
const struct model_vm *node_vms_model(const struct node_vms *vms,
	const char *uid);
