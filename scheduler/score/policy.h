/* The ways to score a node: our own and those of others.
 *
 * docs/scoring.md has each formula with its source. policy_args take the names
 * that upstream's own arguments have. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"

struct node;
struct pod;
struct policy;
struct score;

/* Fills the terms of the policy and the total, 0 to 100. The other terms are
 * NAN already. */
typedef void (*policy_score)(struct score *out, const struct pod *pod,
	const struct node *node, const struct policy *policy);

/* Upstream's arguments, each with its upstream default. */
struct policy_args {
	double target_utilization;		  /* percent, 40 */
	double default_request_milli;		  /* 1000 */
	double default_request_multiplier;	  /* 1.5 */
	double safe_variance_margin;		  /* 1 */
	double safe_variance_sensitivity;	  /* 1 */
	double smoothing_window_size;		  /* 5 */
	double risk_limit_cpu, risk_limit_memory; /* 0.5 */
	double weight_cpu, weight_memory; /* resources of LeastAllocated, 1 */
};

struct policy {
	const char *name;
	policy_score score; /* NULL: real-load, see score.c */
	struct policy_args args;
};

/* args is the object policy_args; NULL: none.
 * -EINVAL: there is no such policy, or it has no such argument; -EBADMSG,
 * -ERANGE: an argument's value is none. *out is then untouched. */
must_check int policy_find(struct policy *out, const char *name,
	const struct value *args, struct error *err);
