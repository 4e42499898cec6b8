/* The beta distribution, for policy low-risk-overcommit. Pure. */
#pragma once

/* The regularised incomplete beta function I_x(a, b): the probability that a
 * variable with this distribution is at most x. a, b > 0; x is clamped to 0 to
 * 1. Continued fraction of DLMF 8.17.22, good to 1e-12 for a, b below 1e5. */
double beta_probability(double x, double a, double b);
