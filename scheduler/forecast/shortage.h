/* The expected shortage of a node: the cores that its VMs will want and will
 * not get, E[max(0, D - C)].
 *
 * D, the demand of all VMs together, is a gamma distribution that is shifted to
 * the given mean, variance and third central moment. The tail has to grow with
 * the VMs: on recorded days 79 % of the damage has a VM of 16 vCPUs as its
 * largest jumper, residuals have skewness 1.2 to 1.6, and a normal tail leaves
 * out what matters.
 *
 * A decision needs it for many nodes, so it is interpolated in a table of the
 * standardised distribution. It is within 2 % of the integral where it is above
 * 1e-10 standard deviations (test_shortage.c). Pure. */
#pragma once

/* From this skewness on the distribution stays the same: demand is nearly
 * always at its least, and rarely jumps far. */
#define SHORTAGE_SKEWNESS_MAX 38.0

/* In cores. variance in cores squared, third in cores cubed. At least
 * max(0, mean - cores), and finite, for any input; 0 if mean or cores are not
 * finite. A third moment that is negative or not known counts as 0. */
double shortage_expected(double mean, double variance, double third,
	double cores);
