/* How good is this node for this pod? 0 to 100 by the configured policy.
 *
 * The score of policy `real-load` is a sum of terms. Each term is its weight
 * times a value from 0 to 1 that falls smoothly and never quite reaches 0, so
 * that overloaded nodes are ordered, too. docs/scoring.md explains each term.
 * Pure: now_us is on the clock of the figures. */
#pragma once

#include "scheduler/cluster/node.h"
#include "scheduler/cluster/vm_failures.h"
#include "scheduler/objects/pod.h"
#include "scheduler/score/policy.h"
#include "scheduler/score/preferences.h"
#include "scheduler/score/score_cpu.h"

#include <stdbool.h>
#include <stdint.h>

enum score_term {
	TERM_CPU,
	TERM_MEMORY,
	TERM_CONTENTION,
	TERM_MEMORY_PRESSURE,
	TERM_IO_PRESSURE,
	TERM_KVM,
	TERM_DATA,     /* the trust in the load data */
	TERM_REJECTED, /* negative, after a rejection: objects/rejection.h */
	TERM_FAILED,   /* negative, with any policy: cluster/vm_failures.h */
	/* The upstream policies: see score/policy.h; NAN with real-load. */
	TERM_LEAST_ALLOCATED,
	TERM_BALANCED_ALLOCATION,
	TERM_TARGET_LOAD_PACKING,
	TERM_LOAD_VARIATION_RISK,
	TERM_LOW_RISK_OVERCOMMIT,
	TERM_PREFERENCES, /* + enum preference */
	SCORE_TERMS = TERM_PREFERENCES + PREFERENCES,
};

/* The points of the load terms; they add up to 100. CPU weighs most: VMs share
 * it, and requests say least about it. Memory is reserved in full, so the
 * filter does most of the work. Contention is the actual damage, but shows late
 * and only on nodes that run VMs. */
#define SCORE_CPU 50.0
#define SCORE_MEMORY 20.0
#define SCORE_CONTENTION 14.0
#define SCORE_MEMORY_PRESSURE 7.0
#define SCORE_IO_PRESSURE 3.0
#define SCORE_KVM 3.0
#define SCORE_DATA 3.0

/* The share of its score that a node loses on which this VM failed. The node
 * comes after every node with more than one point, in the order of the load,
 * and gets the VM if nothing else fits. */
#define SCORE_FAILURE_COST 0.99

/* The share of used memory at which half the points are lost. Memory is
 * reserved in full by requests, so it hardly matters before it gets short. */
#define SCORE_MEMORY_FULL 0.9

/* The share of time at which half the points are lost. A VM that waits for a
 * fifth of its time is slow for every user. Stalls on memory mean reclaim or
 * swap, so a tenth is bad. Waiting for disks is ordinary. */
#define SCORE_HALF_CONTENTION 0.2
#define SCORE_HALF_MEMORY_PRESSURE 0.1
#define SCORE_HALF_IO_PRESSURE 0.4

/* The weight of the load, beside preferences_weight(). It replaces
 * kube-scheduler's two resource plugins of weight 1: a preference that is met
 * in full is worth at least the whole range of the load, so the load does not
 * silently cancel it. */
#define SCORE_WEIGHT_LOAD 2.0

/* The values that are the same for all nodes of one decision. */
struct score_context {
	const struct pod *pod; /* borrowed */
	/* The pod's expected use of shared cores. */
	struct model_forecast pod_load;
	struct kin_vm kin; /* the pod, beside its kin on a node */
	size_t siblings;   /* its kin on all nodes; see decide.c */
	/* The score is as if the pod added no shortage: at least the total, and
	 * quick. For score_total() alone. */
	bool skips_shortage;
	int64_t now_us;
	const struct policy *policy;	   /* NULL: real-load */
	struct model_prior prior;	   /* of the VMs of this cluster */
	const struct kin_table *known_kin; /* NULL: nothing is known of kin */
	/* The CPU share of the nodes with data, weighted by trust; less if
	 * hardly any node has data: see score/decide.c. A node without data
	 * counts as at least that busy, so it is never idle and never best. */
	double cluster_cpu;
	const struct preferences *preferences; /* NULL: none */
	const struct vm_failed_nodes
		*failures; /* of the pod's VM; NULL: none */
};

struct score {
	double total;
	/* Points; with real-load they sum to total. NAN: the term does not
	 * apply. */
	double terms[SCORE_TERMS];
	double trust;		   /* in the measured figures, 0 to 1 */
	double cpu_measured;	   /* share of its cores; NAN: no data */
	double cpu_expected;	   /* expected change, with this pod */
	double cpu_by_requests;	   /* with this pod; NAN where trust is 1 */
	double memory_by_requests; /* with this pod */
	double contention;	   /* NAN: unknown */
	/* Inputs of the terms; each is set if trust is above 0, or below 1. */
	struct score_cpu by_load, by_requests;
	double memory_expected; /* share, with this pod; see below */
	/* Set by score_node() alone, for explanations with real-load; NAN: not
	 * known. Both sources count by trust: the room is that of the points,
	 * as score_headroom() has them, and so is memory_expected. */
	double cpu_room;      /* model_headroom() */
	double cpu_deviation; /* the standard deviation, a share */
	/* The expected shortage within the next hour with this pod, and what
	 * the pod adds, in core-seconds. The second is that of the points, as
	 * score_counted() has it. */
	double cpu_shortage, cpu_shortage_added;
	double siblings; /* the VMs of the pod's kin on the node */
	/* cpu_expected is the sum of: this pod, with the shared CPUs that it
	 * takes from the others; VMs that were placed and not measured yet; VMs
	 * that are expected to use more than now. */
	double cpu_by_pod, cpu_by_starting, cpu_by_growth;
	/* The shares that announcements add: of cpu_by_pod and cpu_by_growth;
	 * without trust, of cpu_by_requests. */
	double cpu_announced_by_pod, cpu_announced_by_others;
	double cpu_announced_by_requests;
	/* The cores by which announcements (forecast/announcement.h) raise the
	 * expected use: of this pod, and of the VMs on the node. */
	double announced_by_pod, announced_by_others;
};

/* A node and its score for a pod. */
struct candidate {
	const struct node *node; /* borrowed */
	struct score score;
};

/* Sets the members about the pod. Set the prior before. */
void score_begin(struct score_context *context, const struct pod *pod);

/* The context's pod on this node. */
void score_node(struct score *out, const struct node *node,
	const struct score_context *context);

/* Only the total, for decisions over thousands of nodes. */
double score_total(const struct node *node,
	const struct score_context *context);

/* 1 / (1 + (x / 0.9)^8), for shares of a node's memory. */
double score_memory(double share);

/* The contention or pressure that gives the points of a value that counts by
 * trust, half being its SCORE_HALF_... constant. NAN for NAN. */
double score_counted(double value, double half, double trust);

const char *score_term_name(enum score_term term);
