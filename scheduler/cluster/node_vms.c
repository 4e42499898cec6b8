#include "scheduler/cluster/node_vms.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "kube/time.h"

void node_vms_fini(struct node_vms *vms)
{
	free(vms->list);
	*vms = (struct node_vms){ 0 };
}

/* After any change of its model. */
static void know(struct node_vm *vm)
{
	vm->alone = (struct model_sum){ 0 };
	model_add(&vm->alone, &vm->model);
}

/* Anew each time: differences of doubles would leave something behind. */
static void sum(struct node_vms *vms)
{
	vms->seen = (struct model_sum){ 0 };
	vms->unseen = (struct model_sum){ 0 };
	vms->dedicated_cores = 0;
	vms->dedicated_used = 0;
	vms->newest_us = MOMENT_LONG_AGO;
	for (size_t i = 0; i < vms->count; i++) {
		const struct node_vm *vm = &vms->list[i];

		if (vm->is_dedicated) {
			vms->dedicated_cores += vm->model.vcpus;
			vms->dedicated_used +=
				vm->charge.is_seen ? vm->model.seen_cores : 0;
		} else {
			model_plus(
				vm->charge.is_seen ? &vms->seen : &vms->unseen,
				&vm->alone);
		}
		if (vm->charge.bound_us > vms->newest_us) {
			vms->newest_us = vm->charge.bound_us;
		}
	}
}

void node_vms_add(struct node_vms *vms, const struct pod *pod, int64_t bound_us)
{
	/* What it does before says nothing of it: idle while its image comes,
	 * busy while it boots. It stays charged as one like the others. */
	int64_t booted_us = bound_us + FORECAST_BOOT_US;
	struct node_vm *vm;

	vms->list = xgrow(vms->list, vms->count, &vms->capacity,
		sizeof(*vms->list));
	vm = &vms->list[vms->count++];
	*vm = (struct node_vm){
		.model = {
			.vcpus = pod->vcpus,
			.past = pod->past,
			.learned_us = pod->learned_us > booted_us
				? pod->learned_us
				: booted_us,
		},
		.is_dedicated = pod->is_dedicated,
		.charge = {
			.memory_bytes = (double)pod->requests.memory_bytes,
			.bound_us = bound_us,
		},
	};
	strncpy(vm->uid, pod->uid, sizeof(vm->uid) - 1);
	know(vm);
	sum(vms);
}

static struct node_vm *find(const struct node_vms *vms, const char *uid)
{
	for (size_t i = 0; i < vms->count; i++) {
		if (strncmp(vms->list[i].uid, uid,
			    sizeof(vms->list[i].uid) - 1) == 0) {
			return &vms->list[i];
		}
	}
	return NULL;
}

void node_vms_remove(struct node_vms *vms, const char *uid)
{
	struct node_vm *vm = find(vms, uid);

	if (vm != NULL) {
		*vm = vms->list[--vms->count];
		sum(vms);
	}
}

/* Loads list the same VMs in the same order nearly always. */
static const struct vm_load *find_load(const struct node_load *load,
	const struct node_vm *vm, size_t *at)
{
	if (vm->at < load->vm_count &&
		strcmp(load->vms[vm->at].pod_uid, vm->uid) == 0) {
		*at = vm->at;
		return &load->vms[vm->at];
	}
	for (size_t i = 0; i < load->vm_count; i++) {
		if (strcmp(load->vms[i].pod_uid, vm->uid) == 0) {
			*at = i;
			return &load->vms[i];
		}
	}
	return NULL;
}

/* What is known of a VM that runs for longer than anybody remembers: its last
 * five minutes. */
static const int64_t five_min_us = INT64_C(300) * 1000000;

static void learn(struct node_vm *vm, const struct vm_load *seen,
	int64_t sample_us)
{
	struct model_vm *model = &vm->model;

	vm->charge.is_seen = seen != NULL && seen->used_cores >= 0;
	if (!vm->charge.is_seen) {
		return;
	}
	if (sample_us - model->learned_us > five_min_us) {
		model->learned_us = sample_us - five_min_us;
	}
	model->seen_cores = seen->used_cores;
	vm->charge.seen_memory_bytes = seen->memory_bytes;
	model_learn(model, seen->used_cores, seen->used_cores_5m, sample_us);
	know(vm);
}

void node_vms_take_one(struct node_vms *vms, const char *uid,
	const struct node_load *load, int64_t until_us)
{
	struct node_vm *vm = find(vms, uid);

	if (vm != NULL) {
		const struct vm_load *seen = find_load(load, vm, &vm->at);

		if (seen != NULL) {
			learn(vm, seen, until_us);
			sum(vms);
		}
	}
}

void node_vms_take(struct node_vms *vms, const struct node_load *load,
	int64_t until_us)
{
	for (size_t i = 0; i < vms->count; i++) {
		struct node_vm *vm = &vms->list[i];

		learn(vm, find_load(load, vm, &vm->at), until_us);
	}
	sum(vms);
}

void node_vms_teach(struct node_vms *vms, const char *uid,
	const struct vm_profile *past)
{
	struct node_vm *vm = find(vms, uid);

	if (vm != NULL && past->seconds > vm->model.past.seconds) {
		vm->model.past = *past;
		know(vm);
		sum(vms);
	}
}

void node_vms_forget(struct node_vms *vms)
{
	for (size_t i = 0; i < vms->count; i++) {
		vms->list[i].charge.is_seen = false;
	}
	sum(vms);
}

/* Whether any VM may be charged at all; nearly always none is, and a decision
 * then leaves the list alone. */
static bool has_new(const struct node_vms *vms, int64_t now_us)
{
	return vms->count > 0 && now_us - vms->newest_us < FORECAST_UNSEEN_US;
}

void node_vms_expect(const struct node_vms *vms, struct model_prior prior,
	int64_t now_us, double *cores, double *variance)
{
	if (vms->unseen.by_prior <= 0 || !has_new(vms, now_us)) {
		return;
	}
	for (size_t i = 0; i < vms->count; i++) {
		const struct node_vm *vm = &vms->list[i];
		double share;

		if (vm->charge.is_seen || vm->is_dedicated) {
			continue;
		}
		share = forecast_unseen(&vm->charge, now_us);
		*cores += share * model_cores(&vm->alone, prior);
		*variance += share * model_variance(&vm->alone, prior);
	}
}

double node_vms_memory(const struct node_vms *vms, int64_t now_us)
{
	double bytes = 0;

	if (!has_new(vms, now_us)) {
		return 0;
	}
	for (size_t i = 0; i < vms->count; i++) {
		bytes += forecast_memory(&vms->list[i].charge, now_us);
	}
	return bytes;
}

const struct model_vm *node_vms_model(const struct node_vms *vms,
	const char *uid)
{
	const struct node_vm *vm = find(vms, uid);

	return vm != NULL ? &vm->model : NULL;
}
