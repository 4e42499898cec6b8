/* The VMs of a node: what was learned of each, and the sums that decisions
 * read.
 *
 * All times are the caller's, on one clock; a load is borrowed for the call.
 * Pure. */
#pragma once

#include "proto/load.h"
#include "scheduler/objects/forecast.h"
#include "scheduler/objects/model.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A VM's pod on the node. */
struct node_vm {
	char uid[REPORT_UID_MAX];
	struct model_vm model;
	struct model_sum alone; /* what the model says of it */
	bool is_dedicated;	/* its CPUs are its own: in no sum */
	struct pending charge;
	size_t at; /* where the last load listed it */
};

/* A zeroed one is ready. */
struct node_vms {
	struct node_vm *list; /* owned; in no order */
	size_t count, capacity;
	int64_t newest_us; /* when the last of them was bound */
	/* Of those that the load lists, and of the others. */
	struct model_sum seen, unseen;
	/* CPUs that are VMs' own, and what those were last seen to use. */
	double dedicated_cores, dedicated_used;
};

void node_vms_fini(struct node_vms *vms);

void node_vms_add(struct node_vms *vms, const struct pod *pod,
	int64_t bound_us);
void node_vms_remove(struct node_vms *vms, const char *uid); /* if there */

/* What the load lists of them; learned from it is up to until_us. */
void node_vms_take(struct node_vms *vms, const struct node_load *load,
	int64_t until_us);
/* The same of one VM: for a pod that came after the load. */
void node_vms_take_one(struct node_vms *vms, const char *uid,
	const struct node_load *load, int64_t until_us);
/* What others know of its past, this very pod's included: counts if it rests on
 * more than what was learned here. */
void node_vms_teach(struct node_vms *vms, const char *uid,
	const struct vm_profile *past);
/* There is no load any more; what was learned stays. */
void node_vms_forget(struct node_vms *vms);

/* Adds to cores and their variance what is to be expected of VMs that the load
 * does not list: on their way, or of an agent that cannot see VMs. */
void node_vms_expect(const struct node_vms *vms, struct model_prior prior,
	int64_t now_us, double *cores, double *variance);

/* Bytes to expect from VMs placed but not yet measured. */
double node_vms_memory(const struct node_vms *vms, int64_t now_us);

/* What was learned of a VM; NULL: it is not here. */
const struct model_vm *node_vms_model(const struct node_vms *vms,
	const char *uid);
