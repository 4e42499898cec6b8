#include "scheduler/cluster/node_vms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kube/time.h"
#include "lib/memory.h"
#include "scheduler/objects/pod_kin.h"

void node_vms_fini(struct node_vms *vms)
{
	free(vms->list);
	kin_sums_fini(&vms->kin);
	*vms = (struct node_vms){ 0 };
}

/* Call after each change of the model. */
static void update_sum(struct node_vm *vm)
{
	vm->sum = (struct model_sum){ 0 };
	model_add(&vm->sum, &vm->model);
	vm->sum.own += vm->kin.more * vm->sum.by_prior;
	if (vm->is_by_measure) {
		double variance = usage_variance(&vm->model.usage);

		vm->sum.own = vm->model.seen_cores;
		vm->sum.by_prior = 0;
		vm->sum.variance = variance;
		vm->sum.by_deviation = 0;
		vm->sum.third = variance * vm->model.vcpus;
		vm->sum.third_by_deviation = 0;
	}
}

/* From zero, because sums of doubles drift if values are subtracted. */
static void recompute_sums(struct node_vms *vms)
{
	vms->seen = (struct model_sum){ 0 };
	vms->unseen = (struct model_sum){ 0 };
	kin_sums_clear(&vms->kin);
	vms->dedicated_cores = 0;
	vms->dedicated_used = 0;
	vms->newest_us = TIME_LONG_AGO;
	vms->announced_count = 0;
	vms->arriving_count = 0;
	for (size_t i = 0; i < vms->count; i++) {
		const struct node_vm *vm = &vms->list[i];
		const struct kin_vm kin = { vm->kin.kin, vm->kin.rho,
			vm->model.vcpus, model_variance(&vm->sum, vms->prior) };

		vms->arriving_count += vm->is_arriving;
		if (vm->is_dedicated) {
			vms->dedicated_cores += vm->model.vcpus;
			vms->dedicated_used +=
				vm->charge.is_seen ? vm->model.seen_cores : 0;
		} else {
			model_add_sum(
				vm->charge.is_seen ? &vms->seen : &vms->unseen,
				&vm->sum);
			kin_sums_add(&vms->kin, &kin);
			vms->announced_count += vm->announced != NULL;
		}
		if (vm->charge.bound_us > vms->newest_us) {
			vms->newest_us = vm->charge.bound_us;
		}
	}
}

/* An average VM of the most vCPUs uses all cores of the node. A VM may have
 * more vCPUs than that node has cores, and still use few of them. */
static double vcpus_of(const struct node_vms *vms, const struct node_vm *vm)
{
	return vm->is_bounded && vms->cores > 0
		? fmin(vm->vcpus, vms->cores / MODEL_SHARE)
		: vm->vcpus;
}

void node_vms_set_cores(struct node_vms *vms, double cores)
{
	if (cores == vms->cores) {
		return;
	}
	vms->cores = cores;
	for (size_t i = 0; i < vms->count; i++) {
		struct node_vm *vm = &vms->list[i];

		vm->model.vcpus = vcpus_of(vms, vm);
		update_sum(vm);
	}
	recompute_sums(vms);
}

void node_vms_add(struct node_vms *vms, const struct pod *pod, int64_t bound_us)
{
	/* Earlier use is not typical: a VM is idle while its image is pulled
	 * and busy while it boots. Until then its peers determine the
	 * charge. */
	int64_t booted_us = bound_us + FORECAST_BOOT_US;
	struct node_vm *vm;

	vms->list = xgrow(vms->list, vms->count, &vms->capacity,
		sizeof(*vms->list));
	vm = &vms->list[vms->count++];
	*vm = (struct node_vm){
		.model = {
			.usage = pod->usage,
			.observed_us = pod->observed_us > booted_us
				? pod->observed_us
				: booted_us,
		},
		.is_dedicated = pod->is_dedicated,
		.is_arriving = pod->is_target,
		.is_unproven = pod->belief.is_unproven,
		.is_bounded = pod->belief.is_bounded,
		.vcpus = pod->vcpus,
		.announced = pod->announced,
		.charge = {
			.memory_bytes = (double)pod->requests.memory_bytes,
			.bound_us = bound_us,
		},
	};
	strncpy(vm->uid, pod->uid, sizeof(vm->uid) - 1);
	vm->kin_keys = pod_kin(pod);
	vm->model.vcpus = vcpus_of(vms, vm);
	update_sum(vm);
	recompute_sums(vms);
}

void node_vms_learn_kin(struct node_vms *vms, const struct kin_table *kin)
{
	vms->prior = kin->prior;
	for (size_t i = 0; i < vms->count; i++) {
		struct node_vm *vm = &vms->list[i];

		vm->kin = kin_table_figures(kin, &vm->kin_keys);
		update_sum(vm);
	}
	recompute_sums(vms);
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

void node_vms_believe(struct node_vms *vms, const struct pod *pod)
{
	struct node_vm *vm = find(vms, pod->uid);

	if (vm != NULL) {
		vm->is_dedicated = pod->is_dedicated;
		vm->is_unproven = pod->belief.is_unproven;
		vm->is_bounded = pod->belief.is_bounded;
		vm->is_by_measure &= vm->is_unproven;
		vm->vcpus = pod->vcpus;
		vm->kin_keys = pod_kin(pod);
		vm->model.vcpus = vcpus_of(vms, vm);
		update_sum(vm);
		recompute_sums(vms);
	}
}

void node_vms_remove(struct node_vms *vms, const char *uid)
{
	struct node_vm *vm = find(vms, uid);

	if (vm != NULL) {
		*vm = vms->list[--vms->count];
		recompute_sums(vms);
	}
}

/* Consecutive loads nearly always list the VMs in the same order. */
static const struct vm_load *find_load(const struct node_load *load,
	const struct node_vm *vm, size_t *index)
{
	if (vm->load_index < load->vm_count &&
		strcmp(load->vms[vm->load_index].pod_uid, vm->uid) == 0) {
		*index = vm->load_index;
		return &load->vms[vm->load_index];
	}
	for (size_t i = 0; i < load->vm_count; i++) {
		if (strcmp(load->vms[i].pod_uid, vm->uid) == 0) {
			*index = i;
			return &load->vms[i];
		}
	}
	return NULL;
}

/* After a longer gap, only the last five minutes are known. */
static const int64_t five_min_us = INT64_C(300) * 1000000;

static void observe(struct node_vm *vm, const struct node_load *load,
	const struct vm_load *seen, int64_t sample_us)
{
	struct model_vm *model = &vm->model;

	vm->charge.is_seen = seen != NULL && seen->used_cores >= 0;
	if (!vm->charge.is_seen) {
		return;
	}
	if (sample_us - model->observed_us > five_min_us) {
		model->observed_us = sample_us - five_min_us;
	}
	model->seen_cores = seen->used_cores;
	vm->charge.seen_memory_bytes = seen->memory_bytes;
	vm->is_by_measure = vm->is_unproven &&
		sample_us - vm->charge.bound_us >= FORECAST_UNSEEN_US;
	if (vm->is_arriving) {
		/* The idle copy says nothing about the VM. */
		if (sample_us > model->observed_us) {
			model->observed_us = sample_us;
		}
		update_sum(vm);
		return;
	}
	model_observe(model,
		&(struct model_sample){
			.cores = seen->used_cores,
			.five_min_mean = seen->used_cores_5m,
			.contention = load->cpu_contention,
			.end_us = sample_us,
		});
	update_sum(vm);
}

void node_vms_set_load_of(struct node_vms *vms, const char *uid,
	const struct node_load *load, int64_t until_us)
{
	struct node_vm *vm = find(vms, uid);

	if (vm != NULL) {
		const struct vm_load *seen =
			find_load(load, vm, &vm->load_index);

		if (seen != NULL) {
			observe(vm, load, seen, until_us);
			recompute_sums(vms);
		}
	}
}

void node_vms_set_load(struct node_vms *vms, const struct node_load *load,
	int64_t until_us)
{
	for (size_t i = 0; i < vms->count; i++) {
		struct node_vm *vm = &vms->list[i];

		observe(vm, load, find_load(load, vm, &vm->load_index),
			until_us);
	}
	recompute_sums(vms);
}

void node_vms_update_profile(struct node_vms *vms, const char *uid,
	const struct usage *usage)
{
	struct node_vm *vm = find(vms, uid);

	if (vm != NULL && usage->seconds > vm->model.usage.seconds) {
		double recent_cores = vm->model.usage.recent_cores;
		double recent_seconds = vm->model.usage.recent_seconds;

		vm->model.usage = *usage;
		vm->model.usage.recent_cores = recent_cores;
		vm->model.usage.recent_seconds = recent_seconds;
		update_sum(vm);
		recompute_sums(vms);
	}
}

/* A VM may be charged. Nearly always none is, and a decision then does not read
 * the list. */
static bool has_new(const struct node_vms *vms, int64_t now_us)
{
	return vms->count > 0 && now_us - vms->newest_us < FORECAST_UNSEEN_US;
}

void node_vms_add_expected(const struct node_vms *vms, struct model_prior prior,
	int64_t now_us, struct model_forecast *sum)
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
		sum->cores += share * model_cores(&vm->sum, prior);
		sum->variance += share * model_variance(&vm->sum, prior);
		sum->third += share * model_third(&vm->sum, prior);
	}
}

/* Never above the VM's vCPUs and the node's cores. An announcement that nothing
 * proves does not count. */
static double announced_cores(const struct node_vms *vms,
	const struct node_vm *vm, int64_t now_us)
{
	double cores = vm->is_by_measure
		? 0
		: announcement_cores(vm->announced,
			  now_us + vms->wall_offset_us);

	if (vm->is_bounded && vms->cores > 0) {
		cores = fmin(cores, vms->cores);
	}
	return fmin(cores, vm->model.vcpus);
}

struct node_vms_announced node_vms_sum_announced(const struct node_vms *vms,
	struct model_prior prior, int64_t now_us)
{
	struct node_vms_announced sum = { 0 };

	for (size_t i = 0; i < vms->count; i++) {
		const struct node_vm *vm = &vms->list[i];
		double more = 0;

		if (vm->announced != NULL && !vm->is_dedicated) {
			more = announced_cores(vms, vm, now_us) -
				model_cores(&vm->sum, prior);
		}
		if (more > 0 && vm->charge.is_seen) {
			sum.seen += more;
		} else if (more > 0) {
			sum.unseen +=
				more * forecast_unseen(&vm->charge, now_us);
		}
	}
	return sum;
}

bool node_vms_forecast(const struct node_vms *vms, const char *uid,
	struct model_prior prior, int64_t now_us, struct model_forecast *out)
{
	const struct node_vm *vm = find(vms, uid);
	double announced;

	if (vm == NULL) {
		return false;
	}
	*out = model_forecast(&vm->model, node_vm_prior(vm, prior));
	if (vm->is_by_measure) {
		out->cores = vm->sum.own;
		out->variance = vm->sum.variance;
		out->third = vm->sum.variance * vm->model.vcpus;
	}
	announced = announced_cores(vms, vm, now_us);
	out->cores = announced > out->cores ? announced : out->cores;
	return true;
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
