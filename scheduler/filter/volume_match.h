/* Finds volumes for claims that wait for their first consumer. */
#pragma once

#include "scheduler/cluster/node.h"
#include "scheduler/cluster/storage.h"
#include "scheduler/filter/volume_plan.h"
#include "scheduler/filter/volumes.h"

#include <stdbool.h>
#include <stdint.h>

/* Fills in what the claim could have, whatever the node: volumes, best first
 * (one that is meant for it, then the smallest, then by name), and where there
 * is room to provision. */
void volume_match_candidates(struct delayed_claim *delayed,
	const struct storage *storage, const struct names *names);

/* The volume can be used on the node. */
bool volume_match_node(const struct volume *volume, const struct node *node);

/* Each delayed claim gets a volume there, or one can be provisioned: 0, and
 * plan, unless NULL, gets what is to be done. Else a bit of VOLUMES_NONE or
 * VOLUMES_SPACE. */
uint32_t volume_match_delayed(struct volumes *volumes, struct volume_plan *plan,
	const struct node *node);
