/* Matches volumes to claims with WaitForFirstConsumer. */
#pragma once

#include "scheduler/cluster/node.h"
#include "scheduler/cluster/storage.h"
#include "scheduler/filter/volume_plan.h"
#include "scheduler/filter/volumes.h"

#include <stdbool.h>
#include <stdint.h>

/* Finds the volumes that match the claim on any node, best first (prebound,
 * then the smallest, then by name), and the capacities for provisioning. */
void volume_match_candidates(struct delayed_claim *delayed,
	const struct storage *storage, const struct interner *interner);

/* The node matches the volume's node affinity. */
bool volume_match_node(const struct volume *volume, const struct node *node);

/* 0: on this node each delayed claim matches a volume or can be provisioned.
 * Else the bit of VOLUMES_NONE or VOLUMES_SPACE. Adds the choices to plan,
 * unless NULL. */
uint32_t volume_match_delayed(struct volumes *volumes, struct volume_plan *plan,
	const struct node *node);
