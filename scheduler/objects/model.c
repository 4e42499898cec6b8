#include "scheduler/objects/model.h"

#include <math.h>

void model_add(struct model_sum *sum, const struct model_vm *vm)
{
	double vcpus = fmax(vm->vcpus, 0);
	double watched = vm->past.seconds;
	double trial = MODEL_TRIAL_S / (watched + MODEL_TRIAL_S);
	double restless = MODEL_RESTLESS * vcpus;
	double told = fmin(watched, MODEL_KNOWN_S) / MODEL_KNOWN_S;

	sum->own += (1 - trial) * vm->past.mean_cores;
	sum->by_prior += trial * vcpus;
	sum->variance += (1 - trial) * profile_variance(&vm->past) +
		trial * restless * restless;
	sum->by_spread += trial * vcpus * vcpus;
	sum->seen_cores += vm->seen_cores;
	if (vcpus > 0) {
		double share = fmin(vm->past.mean_cores / vcpus, 1);

		sum->told += told;
		sum->told_share += told * share;
		sum->told_square += told * share * share;
	}
}

void model_plus(struct model_sum *sum, const struct model_sum *other)
{
	sum->own += other->own;
	sum->by_prior += other->by_prior;
	sum->variance += other->variance;
	sum->by_spread += other->by_spread;
	sum->seen_cores += other->seen_cores;
	model_tell(sum, other);
}

struct model_prior model_prior(const struct model_sum *fleet)
{
	const double square =
		MODEL_SHARE * MODEL_SHARE + MODEL_SPREAD * MODEL_SPREAD;
	double all = fleet->told + MODEL_LIKES;
	double share = (fleet->told_share + MODEL_LIKES * MODEL_SHARE) / all;
	double mean_square = (fleet->told_square + MODEL_LIKES * square) / all;

	return (struct model_prior){
		.share = share,
		.spread = sqrt(fmax(mean_square - share * share, 1e-4)),
	};
}

void model_learn(struct model_vm *vm, double cores, double five,
	int64_t sample_us)
{
	const double five_min_s = 300;
	double seconds = (double)(sample_us - vm->learned_us) / 1e6;

	if (seconds <= 0) {
		return;
	}
	/* After a gap the last interval says little about it; five minutes
	 * speak for five minutes. */
	if (seconds > 30 && !isnan(five)) {
		cores = five;
	}
	profile_add(&vm->past, cores, fmin(seconds, five_min_s));
	vm->learned_us = sample_us;
}

double model_room(double expected, double variance, double cores)
{
	const double most = 1e6;
	double doubt = MODEL_DOUBT * cores;
	double deviation = sqrt((variance > 0 ? variance : 0) + doubt * doubt);
	double room;

	if (!(cores > 0) || !isfinite(expected) || !(deviation > 0)) {
		return -most;
	}
	/* Not fmin() and fmax(), which are calls. */
	room = (cores - expected) / deviation;
	room = room > -most ? room : -most;
	return room < most ? room : most;
}
