/* The volumes chosen for a pod's claims on its node, before they are bound. */
#pragma once

#include "scheduler/cluster/storage.h"

#include <stddef.h>

struct volume_choice {
	char *namespace_name, *claim; /* owned, as all texts here */
	char *claim_uid;
	char *volume; /* an existing volume; NULL: to be provisioned */
};

/* Zeroed: empty. */
struct volume_plan {
	struct volume_choice *list; /* owned */
	size_t count, capacity;
};

/* volume: NULL to provision a volume. */
void volume_plan_add(struct volume_plan *plan, const struct claim *claim,
	const struct volume *volume);
void volume_plan_clear(struct volume_plan *plan);
void volume_plan_fini(struct volume_plan *plan); /* zeroed is fine */

/* Later decisions assume that the plan is done on this node; forget undoes
 * that. */
void volume_plan_assume(const struct volume_plan *plan, struct storage *storage,
	const char *node);
void volume_plan_forget(const struct volume_plan *plan,
	struct storage *storage);
