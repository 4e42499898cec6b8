/* The kin on one node: what it adds to the variance and the third moment of the
 * node's demand that they move together.
 *
 * With S the sum of the standard deviations of the VMs of a kin, s2 their
 * variances and c their vCPUs, and rho of forecast/kin.h, kin add
 *
 *     variance: rho (S^2 - sum s2)
 *     third:    rho (S^2 sum c - sum s2 c)
 *
 * to the sums over VMs that are independent: kin count like one VM of all their
 * vCPUs. Pure. */
#pragma once

#include "scheduler/forecast/kin.h"

#include <stddef.h>
#include <stdint.h>

/* A VM, as the sums see it. */
struct kin_vm {
	kin_key kin; /* 0: it has none */
	double rho;  /* its kin's */
	double vcpus, variance;
};

/* The VMs of one kin on the node. */
struct kin_group {
	kin_key key;
	unsigned count;
	double rho;
	double vcpus, deviation, variance, third; /* sums */
};

/* The part that kin add, in cores squared and cores cubed. */
struct kin_excess {
	double variance, third;
};

/* Zeroed: there are none. VMs whose kin do not move together (rho is 0) are
 * not in the list, so that it is empty in most clusters. */
struct kin_sums {
	struct kin_group *list; /* owned */
	uint32_t count, capacity;
	/* A bit for each key: most nodes have no kin of a VM, and a decision
	 * then does not read their lists. */
	uint64_t keys;
	struct kin_excess excess; /* of all kin */
};

void kin_sums_fini(struct kin_sums *sums);
void kin_sums_clear(struct kin_sums *sums); /* keeps the memory */
struct kin_sums kin_sums_copy(const struct kin_sums *sums);

void kin_sums_add(struct kin_sums *sums, const struct kin_vm *vm);
void kin_sums_remove(struct kin_sums *sums, const struct kin_vm *vm);

/* The kin of this key; NULL: none. */
const struct kin_group *kin_sums_find(const struct kin_sums *sums, kin_key key);
static inline const struct kin_group *kin_sums_group(
	const struct kin_sums *sums, kin_key key)
{
	return (sums->keys >> (key >> 2 & 63) & 1) != 0
		? kin_sums_find(sums, key)
		: NULL;
}

/* The same with this VM more (sign 1), or without this one of them (-1), which
 * has kin there. */
struct kin_excess kin_sums_changed(const struct kin_sums *sums,
	const struct kin_vm *vm, int sign);

/* The excess of all kin with this VM more, or without this one of them. */
static inline struct kin_excess kin_sums_with(const struct kin_sums *sums,
	const struct kin_vm *vm)
{
	return vm->rho > 0 && kin_sums_group(sums, vm->kin) != NULL
		? kin_sums_changed(sums, vm, 1)
		: sums->excess;
}
static inline struct kin_excess kin_sums_without(const struct kin_sums *sums,
	const struct kin_vm *vm)
{
	return vm->rho > 0 && kin_sums_group(sums, vm->kin) != NULL
		? kin_sums_changed(sums, vm, -1)
		: sums->excess;
}
