/* How much CPU a node's VMs will use, and how sure that is.
 *
 * A VM's expected use is the mean of what is known of it and of what VMs like
 * it use, weighted by how long it was watched: a new VM counts as one like the
 * others, and is gradually replaced by itself. That is also how VMs that are
 * placed but not yet visible are charged, and how the charge goes. A node's
 * figures are linear in what VMs like these use, so they are summed up when
 * something changes and a decision adds three numbers. Pure. */
#pragma once

#include "scheduler/objects/usage.h"

#include <stdint.h>

/* A VM's own past weighs as much as its likes after it was watched so long.
 * Half as much or four times as much places hardly worse (bench-placement). */
#define MODEL_TRIAL_S 300.0

/* Shares of their vCPUs that VMs use on average, and how far their means lie
 * apart, until the cluster has VMs of its own to tell: between the 10 to 20 %
 * that fleets report and the 100 % of one that does nothing but compute. It
 * counts like MODEL_LIKES watched VMs. */
#define MODEL_SHARE 0.25
#define MODEL_SPREAD 0.25
#define MODEL_LIKES 10.0

/* A VM tells of its likes in full after half an hour: its boot is over. */
#define MODEL_KNOWN_S 1800.0

/* How far a VM's use strays from its mean while it is not known, in vCPUs. */
#define MODEL_RESTLESS 0.1

/* What no model knows: the host's own work, VMs that all wake up at nine. A
 * standard deviation, as a share of the node's cores. It also keeps a node
 * without VMs from being infinitely sure. */
#define MODEL_DOUBT 0.05

/* What VMs like these use: a share of a vCPU, and the deviation of their
 * means. */
struct model_prior {
	double share, spread;
};

/* One VM as a node knows it. */
struct model_vm {
	double vcpus;
	struct vm_profile past;
	int64_t learned_us; /* up to when it was watched */
	double seen_cores;  /* when a load last listed it */
};

/* Sums over VMs. Expected cores are own + prior share x by_prior, their
 * variance variance + prior spread squared x by_spread. */
struct model_sum {
	double own, by_prior;
	double variance, by_spread;
	double seen_cores; /* what they were last seen to use */
	/* What they tell of their likes. */
	double told, told_share, told_square;
};

void model_add(struct model_sum *sum, const struct model_vm *vm);
void model_plus(struct model_sum *sum, const struct model_sum *other);

/* What a decision asks of thousands of nodes is inline.
 *
 * The prior from all nodes' sums added up (the told figures are used). */
struct model_prior model_prior(const struct model_sum *fleet);
static inline void model_tell(struct model_sum *fleet,
	const struct model_sum *node)
{
	fleet->told += node->told;
	fleet->told_share += node->told_share;
	fleet->told_square += node->told_square;
}

static inline double model_cores(const struct model_sum *sum,
	struct model_prior prior)
{
	return sum->own + prior.share * sum->by_prior;
}

static inline double model_variance(const struct model_sum *sum,
	struct model_prior prior)
{
	return sum->variance + prior.spread * prior.spread * sum->by_spread;
}

/* The VM was seen using so many cores in the interval up to sample_us; five
 * is the mean of its last five minutes, or NAN. */
void model_learn(struct model_vm *vm, double cores, double five,
	int64_t sample_us);

/* Standard deviations between what is expected and all there is, both in
 * cores; variance in cores squared. Below 0 where more is expected. Finite for
 * any input. */
double model_room(double expected, double variance, double cores);
