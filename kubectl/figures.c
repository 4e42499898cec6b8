#include "kubectl/figures.h"

#include <math.h>
#include <stdio.h>

static char *unknown(char *out)
{
	(void)snprintf(out, FIGURE_MAX, "-");
	return out;
}

/* Above that a figure is a mistake, and its text too long. */
static const double figure_limit = 1e15;

static int is_known(double value)
{
	return isfinite(value) && fabs(value) <= figure_limit;
}

char *figure_cores(char *out, double cores)
{
	if (!is_known(cores)) {
		return unknown(out);
	}
	(void)snprintf(out, FIGURE_MAX, "%.2f", cores);
	return out;
}

char *figure_share(char *out, double share)
{
	if (!is_known(share)) {
		return unknown(out);
	}
	(void)snprintf(out, FIGURE_MAX, "%.0f%%", share * 100);
	return out;
}

char *figure_bytes(char *out, double bytes)
{
	static const char *const units[] = { "", "Ki", "Mi", "Gi", "Ti" };
	unsigned i = 0;

	if (!is_known(bytes)) {
		return unknown(out);
	}
	while (fabs(bytes) >= 1024 && i < 4) {
		bytes /= 1024;
		i++;
	}
	(void)snprintf(out, FIGURE_MAX, i == 0 ? "%.0f%s" : "%.1f%s", bytes,
		units[i]);
	return out;
}

char *figure_whole(char *out, double number)
{
	if (!is_known(number)) {
		return unknown(out);
	}
	(void)snprintf(out, FIGURE_MAX, "%.0f", number);
	return out;
}

/* apimachinery's duration.HumanDuration. */
char *figure_age(char *out, double seconds)
{
	long long s;

	if (!is_known(seconds)) {
		(void)snprintf(out, FIGURE_MAX, "<unknown>");
		return out;
	}
	/* Clocks of two machines differ a little. */
	s = seconds < 0 ? 0 : (long long)seconds;
	if (s < 120) {
		(void)snprintf(out, FIGURE_MAX, "%llds", s);
	} else if (s < 600 && s % 60 != 0) {
		(void)snprintf(out, FIGURE_MAX, "%lldm%llds", s / 60, s % 60);
	} else if (s < 10800) {
		(void)snprintf(out, FIGURE_MAX, "%lldm", s / 60);
	} else if (s < 28800 && s / 60 % 60 != 0) {
		(void)snprintf(out, FIGURE_MAX, "%lldh%lldm", s / 3600,
			s / 60 % 60);
	} else if (s < 172800) {
		(void)snprintf(out, FIGURE_MAX, "%lldh", s / 3600);
	} else {
		(void)snprintf(out, FIGURE_MAX, "%lldd", s / 86400);
	}
	return out;
}
