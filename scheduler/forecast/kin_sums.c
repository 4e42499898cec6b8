#include "scheduler/forecast/kin_sums.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/memory.h"

void kin_sums_fini(struct kin_sums *sums)
{
	free(sums->list);
	*sums = (struct kin_sums){ 0 };
}

void kin_sums_clear(struct kin_sums *sums)
{
	sums->count = 0;
	sums->keys = 0;
	sums->excess = (struct kin_excess){ 0 };
}

struct kin_sums kin_sums_copy(const struct kin_sums *sums)
{
	struct kin_sums copy = *sums;

	copy.list = xmemdup(sums->list, sums->count * sizeof(*sums->list));
	copy.capacity = sums->count;
	return copy;
}

const struct kin_group *kin_sums_find(const struct kin_sums *sums, kin_key key)
{
	for (size_t i = 0; i < sums->count; i++) {
		if (sums->list[i].key == key) {
			return &sums->list[i];
		}
	}
	return NULL;
}

static struct kin_excess excess_of(const struct kin_group *group)
{
	double together = group->deviation * group->deviation;

	/* Sums of doubles drift, and one VM alone adds nothing. */
	if (group->count < 2) {
		return (struct kin_excess){ 0 };
	}
	return (struct kin_excess){
		group->rho * fmax(together - group->variance, 0),
		group->rho * fmax(together * group->vcpus - group->third, 0),
	};
}

/* The group with the VM, or without it for a sign of -1. */
static struct kin_group changed(struct kin_group group, const struct kin_vm *vm,
	int sign)
{
	double variance = vm->variance > 0 ? vm->variance : 0;

	group.count += (unsigned)sign;
	group.rho = vm->rho;
	group.vcpus += sign * vm->vcpus;
	group.deviation += sign * sqrt(variance);
	group.variance += sign * variance;
	group.third += sign * variance * vm->vcpus;
	return group;
}

static bool has_kin(const struct kin_vm *vm)
{
	return vm->kin != 0 && vm->rho > 0;
}

struct kin_excess kin_sums_changed(const struct kin_sums *sums,
	const struct kin_vm *vm, int sign)
{
	const struct kin_group *group = kin_sums_find(sums, vm->kin);
	const struct kin_group with = changed(*group, vm, sign);
	const struct kin_excess before = excess_of(group);
	const struct kin_excess after = excess_of(&with);

	return (struct kin_excess){
		sums->excess.variance + after.variance - before.variance,
		sums->excess.third + after.third - before.third,
	};
}

static struct kin_group *group_for(struct kin_sums *sums, kin_key key)
{
	size_t capacity = sums->capacity;

	for (size_t i = 0; i < sums->count; i++) {
		if (sums->list[i].key == key) {
			return &sums->list[i];
		}
	}
	sums->list =
		xgrow(sums->list, sums->count, &capacity, sizeof(*sums->list));
	sums->capacity = (uint32_t)capacity;
	sums->list[sums->count] = (struct kin_group){ .key = key };
	sums->keys |= UINT64_C(1) << (key >> 2 & 63);
	return &sums->list[sums->count++];
}

static void apply(struct kin_sums *sums, const struct kin_vm *vm, int sign)
{
	struct kin_group *group;

	if (!has_kin(vm)) {
		return;
	}
	group = group_for(sums, vm->kin);
	sums->excess = kin_sums_changed(sums, vm, sign);
	*group = changed(*group, vm, sign);
	if (group->count == 0) {
		*group = sums->list[--sums->count];
	}
}

void kin_sums_add(struct kin_sums *sums, const struct kin_vm *vm)
{
	apply(sums, vm, 1);
}

void kin_sums_remove(struct kin_sums *sums, const struct kin_vm *vm)
{
	apply(sums, vm, -1);
}
