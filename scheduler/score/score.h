/* How good is this node for this pod? 0 to 100 by the policy in force.
 *
 * Of policy `real-load` the score is a sum of terms; each is its weight times a goodness from 0 to 1
 * that falls smoothly and never quite reaches 0, so that overloaded nodes are
 * ordered too. docs/scoring.md explains each with its reason. Pure: figures,
 * and now_us on their clock. */
#pragma once

#include "scheduler/cluster/node.h"
#include "scheduler/objects/pod.h"
#include "scheduler/score/policy.h"
#include "scheduler/score/preferences.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum score_term {
	TERM_CPU,
	TERM_MEMORY,
	TERM_CONTENTION,
	TERM_MEMORY_PRESSURE,
	TERM_IO_PRESSURE,
	TERM_KVM,
	TERM_DATA,     /* how far the other terms rest on fresh figures */
	TERM_REJECTED, /* what a rejection takes off: rejection.h */
	/* Of the other policies, see policy.h; NAN with real-load. */
	TERM_LEAST_ALLOCATED,
	TERM_BALANCED_ALLOCATION,
	TERM_TARGET_LOAD_PACKING,
	TERM_LOAD_VARIATION_RISK,
	TERM_LOW_RISK_OVERCOMMIT,
	TERM_WISHES, /* from here on one for each enum wish */
	SCORE_TERMS = TERM_WISHES + WISHES,
};

/* The points of the load terms; they add up to 100. CPU is what VMs share and
 * what requests know least of; memory is reserved in full, so what matters is
 * mostly kept by the filter; contention is the damage itself, but it is known
 * late and only where VMs run already. */
#define SCORE_CPU 50.0
#define SCORE_MEMORY 20.0
#define SCORE_CONTENTION 14.0
#define SCORE_MEMORY_PRESSURE 7.0
#define SCORE_IO_PRESSURE 3.0
#define SCORE_KVM 3.0
#define SCORE_DATA 3.0

/* Standard deviations of room at which a node is good enough for most: more
 * is worth less and less. */
#define SCORE_ROOM 4.0

/* Memory is kept by requests in full, so it is no reason to prefer a node
 * until it gets short: at this share half the points are lost. */
#define SCORE_MEMORY_FULL 0.9

/* The share of time at which half the points are lost. A VM that waits for a
 * fifth of its time is slow for anybody; stalls on memory mean reclaim or
 * swap and weigh at a tenth; waiting for disks is ordinary. */
#define SCORE_HALF_CONTENTION 0.2
#define SCORE_HALF_MEMORY_PRESSURE 0.1
#define SCORE_HALF_IO_PRESSURE 0.4

/* Against preferred_weight() of what the pod would rather have; in place of
 * kube-scheduler's two resource plugins of weight 1: a wish that is wholly met
 * is worth at least the whole range of the load, so load does not silently
 * cancel it. */
#define SCORE_WEIGHT_LOAD 2.0

/* What the nodes of one decision have in common. */
struct score_context {
	const struct pod *pod; /* borrowed */
	/* What it adds to the shared cores, and how uncertain that is. Cores, and
	 * cores squared. */
	double own_cores, own_variance;
	int64_t now_us;
	const struct policy *policy; /* NULL: real-load */
	struct model_prior prior;    /* what VMs of this cluster use */
	/* CPU share of the nodes with data, weighted by trust, and less where
	 * hardly any has data: see decide.c. A node without data counts as at least
	 * that busy: missing is never idle and never best. */
	double fleet_cpu;
	const struct preferred *preferred; /* NULL: no wishes */
};

struct score {
	double total;
	/* Points; with real-load they sum to total. Terms that do not apply to
	 * the decision are NAN. */
	double terms[SCORE_TERMS];
	double trust;		   /* in the measured figures, 0 to 1 */
	double cpu_measured;	   /* share of its cores; NAN: no data */
	double cpu_expected;	   /* the change to expect, this pod included */
	double cpu_by_requests;	   /* with this pod; NAN where trust is 1 */
	double memory_by_requests; /* with this pod */
	double contention;	   /* NAN: not known */
};

/* Makes the context one for this pod. The prior is known. */
void score_begin(struct score_context *context, const struct pod *pod);

/* The context's pod on this node. */
void score_node(struct score *out, const struct node *node,
	const struct score_context *context);

/* The total alone; what a decision over thousands of nodes calls. */
double score_total(const struct node *node,
	const struct score_context *context);

/* 0 to 1, for the standard deviations of room that model_room() tells: a half
 * at none, 0.85 at SCORE_ROOM x 1, never 1 and never 0, so that even
 * overloaded nodes are ordered. */
double score_room(double room);

/* 1 / (1 + (x / 0.9)^8), for shares of a node's memory. */
double score_memory(double share);

const char *score_term_name(enum score_term term);
