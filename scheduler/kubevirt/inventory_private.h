/* The parts of the inventory that its files share. */
#pragma once

#include "scheduler/kubevirt/inventory.h"

struct tracked {
	struct migration *migration;
	uint64_t seen_us;     /* for the first time */
	uint64_t finished_us; /* 0: not finished */
	/* Another unfinished one of the same VMI: KubeVirt admits one at a
	 * time, but a watch may deliver the new one first. */
	struct tracked *next;
};

/* NULL: not known. */
static inline struct tracked *inventory_tracked(
	const struct inventory *inventory, const char *uid)
{
	return map_get(&inventory->migrations, uid);
}

/* The VMI of a migration; NULL: not known. */
const struct vmi *inventory_vmi_of(const struct inventory *inventory,
	const struct migration *migration);
