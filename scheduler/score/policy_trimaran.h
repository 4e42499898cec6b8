/* The three policies of Trimaran that score by load, exactly as their source:
 * kubernetes-sigs/scheduler-plugins, pkg/trimaran/{targetloadpacking,
 * loadvariationriskbalancing,lowriskovercommitment}.
 *
 * Their metrics are percentages of a node's capacity. Average is the 15-minute
 * mean; Latest, used without Average, is the last interval; Std is the
 * 15-minute deviation. As upstream, they ignore the age of the figures, and a
 * node without figures scores 0. Each has one term with the name of its
 * plugin. */
#pragma once

#include "scheduler/score/policy.h"

void policy_target_load_score(struct score *out, const struct pod *pod,
	const struct node *node, const struct policy *policy);
void policy_variation_score(struct score *out, const struct pod *pod,
	const struct node *node, const struct policy *policy);
void policy_overcommit_score(struct score *out, const struct pod *pod,
	const struct node *node, const struct policy *policy);
