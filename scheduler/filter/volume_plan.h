/* Which volumes a pod's claims get on its node: decided, not done yet. */
#pragma once

#include "scheduler/cluster/storage.h"

#include <stdbool.h>
#include <stddef.h>

struct volume_choice {
	char *namespace_name, *claim; /* owned, as all texts here */
	char *claim_uid;
	char *volume; /* that is there; NULL: one is to be provisioned */
};

/* A zeroed one is empty: nothing to do. */
struct volume_plan {
	struct volume_choice *list; /* owned */
	size_t count, capacity;
};

/* volume: NULL to provision one. */
void volume_plan_add(struct volume_plan *plan, const struct claim *claim,
	const struct volume *volume);
void volume_plan_clear(struct volume_plan *plan);
void volume_plan_fini(struct volume_plan *plan); /* zeroed is fine */

/* Later decisions take the plan for done on this node, or again not. */
void volume_plan_assume(const struct volume_plan *plan,
	const struct storage *storage, const char *node);
void volume_plan_forget(const struct volume_plan *plan,
	const struct storage *storage);
