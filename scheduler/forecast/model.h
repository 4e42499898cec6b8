/* The CPU that a node's VMs are expected to use, and the variance of that.
 *
 * The expected use of a VM is a weighted mean of its own usage and of the use
 * of its peers, the other VMs of the cluster. The weight is the time for which
 * the VM was observed: a new VM counts as an average peer, and its own usage
 * gradually takes over. VMs that are bound and not measured yet are charged the
 * same way. The figures of a node are linear in the peers' use, so each node
 * keeps sums that change with its VMs, and a decision adds three numbers.
 * Pure. */
#pragma once

#include "scheduler/forecast/usage.h"

#include <stdint.h>

/* After this time of observation a VM's own usage weighs as much as its peers.
 * Half or four times the value makes placements hardly worse
 * (bench-placement). */
#define MODEL_TRIAL_S 300.0

/* The share of its vCPUs that a VM uses on average, and the standard deviation
 * of that mean between VMs, before the cluster has VMs of its own: between the
 * 10 to 20 % that operators report and the 100 % of a VM that only computes.
 * They count like MODEL_PEERS observed VMs. */
#define MODEL_SHARE 0.25
#define MODEL_DEVIATION 0.25
#define MODEL_PEERS 10.0

/* A VM counts fully towards the average of its peers after 30 minutes, when its
 * boot load has passed. */
#define MODEL_KNOWN_S 1800.0

/* The standard deviation of a new VM's use over time, as a share of its
 * vCPUs. */
#define MODEL_VARIABILITY 0.1

/* The uncertainty outside the model: the host's own work, VMs that all become
 * busy at nine. A standard deviation, as a share of the node's cores. It also
 * keeps the deviation of a node without VMs above 0. */
#define MODEL_UNCERTAINTY 0.05

/* The average use of the peers and the standard deviation of their means, as
 * shares of a vCPU. */
struct model_prior {
	double share, deviation;
};

/* One VM on a node. */
struct model_vm {
	double vcpus;
	struct usage usage;
	int64_t observed_us; /* end of the observation */
	double seen_cores;   /* its use in the last load that listed it */
	/* In cores: the last five minutes' mean less the mean before it. */
	double deviation;
};

/* How far a VM counts towards the average of its peers, 0 to 1. */
static inline double model_weight(const struct model_vm *vm)
{
	double seconds = vm->usage.seconds;

	return (seconds < MODEL_KNOWN_S ? seconds : MODEL_KNOWN_S) /
		MODEL_KNOWN_S;
}

/* Sums over VMs. The expected cores are own + prior.share x by_prior. Their
 * variance is variance + prior.deviation squared x by_deviation, and the third
 * central moment is third + prior.deviation squared x third_by_deviation. */
struct model_sum {
	double own, by_prior;
	double variance, by_deviation;
	double third, third_by_deviation;
	double seen_cores;
	/* For model_prior(): weight, and weighted share and squared share. */
	double peer_weight, peer_share, peer_square;
};

void model_add(struct model_sum *sum, const struct model_vm *vm);
void model_add_sum(struct model_sum *sum, const struct model_sum *other);

/* The prior from the peer sums of all nodes. Functions that a decision calls
 * for thousands of nodes are inline. */
struct model_prior model_prior(const struct model_sum *cluster);
static inline void model_add_peers(struct model_sum *cluster,
	const struct model_sum *node)
{
	cluster->peer_weight += node->peer_weight;
	cluster->peer_share += node->peer_share;
	cluster->peer_square += node->peer_square;
}

static inline double model_cores(const struct model_sum *sum,
	struct model_prior prior)
{
	return sum->own + prior.share * sum->by_prior;
}

static inline double model_variance(const struct model_sum *sum,
	struct model_prior prior)
{
	return sum->variance +
		prior.deviation * prior.deviation * sum->by_deviation;
}

static inline double model_third(const struct model_sum *sum,
	struct model_prior prior)
{
	return sum->third +
		prior.deviation * prior.deviation * sum->third_by_deviation;
}

/* A VM in a load of its node. */
struct model_sample {
	double cores;	      /* used in the interval that ended at end_us */
	double five_min_mean; /* of the cores; NAN: unknown */
	double contention;    /* of its node, 0 to 1; NAN: unknown */
	int64_t end_us;
};

void model_observe(struct model_vm *vm, const struct model_sample *sample);

/* The demand of the next hour: the expected cores, the variance, and the third
 * central moment. A VM strays from its mean in jumps of all its vCPUs: its
 * third moment is its variance times the vCPUs. */
struct model_forecast {
	double cores, variance, third;
};

/* The sum's VMs together. */
static inline struct model_forecast model_expected(const struct model_sum *sum,
	struct model_prior prior)
{
	return (struct model_forecast){ model_cores(sum, prior),
		model_variance(sum, prior), model_third(sum, prior) };
}

/* While the peers weigh more than this, recent demand does not count in full:
 * 700 s of observation. */
#define MODEL_TRIAL_RECENT 0.3

/* For moves. Half of the forecast is the recent demand, half the expected use
 * as placement knows it: on recorded days both have a weight of about 1/2, for
 * the next five minutes as for the next two hours. */
struct model_forecast model_forecast(const struct model_vm *vm,
	struct model_prior prior);

/* The distance from the expected use to the node's cores, in standard
 * deviations. expected and cores in cores, variance in cores squared. Below 0
 * if more than all cores are expected. Finite for any input. */
double model_headroom(double expected, double variance, double cores);
