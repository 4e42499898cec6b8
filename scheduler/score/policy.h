/* Scoring policies: real-load and the upstream policies, which are those of
 * kube-scheduler and Trimaran.
 *
 * docs/scoring.md has each formula with its source. policy_args have upstream's
 * names. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"

struct node;
struct pod;
struct policy;
struct score;

/* Sets the terms of the policy and the total, 0 to 100. The caller has set the
 * other terms to NAN. */
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
	policy_score score; /* NULL: real-load, see score/score.c */
	struct policy_args args;
};

/* args is the object policy_args; NULL: none.
 * -EINVAL: unknown policy or argument; -EBADMSG, -ERANGE: invalid value of an
 * argument. */
must_check int policy_find(struct policy *out, const char *name,
	const struct json_value *args, struct error *err);
