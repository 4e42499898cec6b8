/* The three policies of Trimaran that place by load, exact to their source:
 * kubernetes-sigs/scheduler-plugins, pkg/trimaran/{targetloadpacking,
 * loadvariationriskbalancing,lowriskovercommitment}.
 *
 * Their metrics are percent of a node's capacity: Average is our 15-minute
 * mean, Latest the last interval where that is missing, Std the 15-minute
 * deviation. As upstream they never ask how old a figure is, and a node
 * without any scores 0. Each has one term, named like its plugin. */
#pragma once

#include "scheduler/score/policy.h"

void policy_target_load_score(struct score *out, const struct pod *pod,
	const struct node *node, const struct policy *policy);
void policy_variation_score(struct score *out, const struct pod *pod,
	const struct node *node, const struct policy *policy);
void policy_overcommit_score(struct score *out, const struct pod *pod,
	const struct node *node, const struct policy *policy);
