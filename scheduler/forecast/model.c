#include "scheduler/forecast/model.h"

#include <math.h>

void model_add(struct model_sum *sum, const struct model_vm *vm)
{
	double vcpus = fmax(vm->vcpus, 0);
	double observed_s = vm->usage.seconds;
	double trial = MODEL_TRIAL_S / (observed_s + MODEL_TRIAL_S);
	double variability = MODEL_VARIABILITY * vcpus;
	double weight = model_weight(vm);
	double variance = (1 - trial) * usage_variance(&vm->usage) +
		trial * variability * variability;

	sum->own += (1 - trial) * vm->usage.mean_cores;
	sum->by_prior += trial * vcpus;
	sum->variance += variance;
	sum->by_deviation += trial * vcpus * vcpus;
	sum->third += variance * vcpus;
	sum->third_by_deviation += trial * vcpus * vcpus * vcpus;
	sum->seen_cores += vm->seen_cores;
	if (vcpus > 0) {
		double share = fmin(vm->usage.mean_cores / vcpus, 1);

		sum->peer_weight += weight;
		sum->peer_share += weight * share;
		sum->peer_square += weight * share * share;
	}
}

void model_add_sum(struct model_sum *sum, const struct model_sum *other)
{
	sum->own += other->own;
	sum->by_prior += other->by_prior;
	sum->variance += other->variance;
	sum->by_deviation += other->by_deviation;
	sum->third += other->third;
	sum->third_by_deviation += other->third_by_deviation;
	sum->seen_cores += other->seen_cores;
	model_add_peers(sum, other);
}

struct model_prior model_prior(const struct model_sum *cluster)
{
	const double square =
		MODEL_SHARE * MODEL_SHARE + MODEL_DEVIATION * MODEL_DEVIATION;
	double all = cluster->peer_weight + MODEL_PEERS;
	double share = (cluster->peer_share + MODEL_PEERS * MODEL_SHARE) / all;
	double mean_square =
		(cluster->peer_square + MODEL_PEERS * square) / all;

	return (struct model_prior){
		.share = share,
		.deviation = sqrt(fmax(mean_square - share * share, 1e-4)),
	};
}

/* The VM got its demand x (1 - contention). */
static double demand_of(const struct model_vm *vm, double cores,
	double contention)
{
	double most = fmax(vm->vcpus, cores);

	if (!(contention > 0)) {
		return cores;
	}
	return contention < 1 ? fmin(cores / (1 - contention), most) : most;
}

void model_observe(struct model_vm *vm, const struct model_sample *sample)
{
	const double five_min_s = 300;
	double seconds = (double)(sample->end_us - vm->observed_us) / 1e6;
	double cores = sample->cores;

	if (seconds <= 0) {
		return;
	}
	/* After a gap, the mean of five minutes represents them better than
	 * the last interval does. */
	if (seconds > 30 && !isnan(sample->five_min_mean)) {
		cores = sample->five_min_mean;
	}
	vm->deviation =
		(isnan(sample->five_min_mean) ? cores : sample->five_min_mean) -
		vm->usage.mean_cores;
	seconds = fmin(seconds, five_min_s);
	usage_add(&vm->usage, cores, seconds);
	usage_add_recent(&vm->usage, demand_of(vm, cores, sample->contention),
		seconds);
	vm->observed_us = sample->end_us;
}

struct model_forecast model_forecast(const struct model_vm *vm,
	struct model_prior prior)
{
	struct model_sum sum = { 0 };
	double vcpus = fmax(vm->vcpus, 0);
	double trial = MODEL_TRIAL_S / (vm->usage.seconds + MODEL_TRIAL_S);
	struct model_forecast out;

	model_add(&sum, vm);
	out = model_expected(&sum, prior);
	if (vm->usage.recent_seconds > 0) {
		out.cores = (out.cores + vm->usage.recent_cores) / 2;
	}
	if (trial > MODEL_TRIAL_RECENT) {
		out.cores =
			(1 - trial) * out.cores + trial * prior.share * vcpus;
	}
	return out;
}

double model_headroom(double expected, double variance, double cores)
{
	const double limit = 1e6;
	double uncertainty = MODEL_UNCERTAINTY * cores;
	double deviation =
		sqrt((variance > 0 ? variance : 0) + uncertainty * uncertainty);
	double headroom;

	if (!(cores > 0) || !isfinite(expected) || !(deviation > 0)) {
		return -limit;
	}
	/* fmin() and fmax() would be calls. */
	headroom = (cores - expected) / deviation;
	headroom = headroom > -limit ? headroom : -limit;
	return headroom < limit ? headroom : limit;
}
