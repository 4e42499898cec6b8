#include "scheduler/forecast/usage.h"

#include <math.h>

void usage_add(struct usage *usage, double cores, double seconds)
{
	double kept;
	double share;

	if (!(cores >= 0) || !(seconds > 0) || !isfinite(cores) ||
		!isfinite(seconds)) {
		return;
	}
	kept = usage->seconds * exp(-seconds / USAGE_MEMORY_S);
	usage->seconds = kept + seconds;
	share = seconds / usage->seconds;
	usage->mean_cores += share * (cores - usage->mean_cores);
	usage->square_cores += share * (cores * cores - usage->square_cores);
}

void usage_add_recent(struct usage *usage, double cores, double seconds)
{
	if (!(cores >= 0) || !(seconds > 0) || !isfinite(cores) ||
		!isfinite(seconds)) {
		return;
	}
	usage->recent_seconds =
		fmin(usage->recent_seconds + seconds, USAGE_RECENT_S);
	usage->recent_cores += fmin(seconds / usage->recent_seconds, 1) *
		(cores - usage->recent_cores);
}

double usage_variance(const struct usage *usage)
{
	return fmax(usage->square_cores - usage->mean_cores * usage->mean_cores,
		0);
}
