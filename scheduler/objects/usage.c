#include "scheduler/objects/usage.h"

#include <math.h>

void profile_add(struct vm_profile *profile, double cores, double seconds)
{
	double kept;
	double share;

	if (!(cores >= 0) || !(seconds > 0) || !isfinite(cores) ||
		!isfinite(seconds)) {
		return;
	}
	kept = profile->seconds * exp(-seconds / PROFILE_MEMORY_S);
	profile->seconds = kept + seconds;
	share = seconds / profile->seconds;
	profile->mean_cores += share * (cores - profile->mean_cores);
	profile->square_cores +=
		share * (cores * cores - profile->square_cores);
}

double profile_variance(const struct vm_profile *profile)
{
	return fmax(profile->square_cores -
			profile->mean_cores * profile->mean_cores,
		0);
}
