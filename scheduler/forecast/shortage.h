/* The expected shortage of a node: the cores that its VMs will want and will
 * not get, E[max(0, D - C)].
 *
 * D, the demand of all VMs together, is a gamma distribution that is shifted to
 * the given mean, variance and third central moment. The tail has to grow with
 * the VMs: on recorded days 79 % of the damage has a VM of 16 vCPUs as its
 * largest jumper, residuals have skewness 1.2 to 1.6, and a normal tail leaves
 * out what matters. Pure. */
#pragma once

/* Below this skewness the normal distribution is as good. */
#define SHORTAGE_SKEWNESS_MIN 0.05

/* At this distance from the mean, in standard deviations, nothing is left. */
#define SHORTAGE_DEVIATIONS 14.0

/* In cores. variance in cores squared, third in cores cubed. At least
 * max(0, mean - cores), and finite, for any input; 0 if mean or cores are not
 * finite. */
double shortage_expected(double mean, double variance, double third,
	double cores);
