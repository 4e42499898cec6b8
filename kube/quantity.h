/* resource.Quantity of Kubernetes: "200m", "4", "4392Mi", "35M", "1k", "1e3".
 *
 * Exact to a billionth, as in the API, so that amounts are summed first and
 * rounded once. Amounts above 64 bits saturate. */
#pragma once

#include "lib/error.h"

#include <stdint.h>

/* units + nanos / 10^9; never negative. */
struct quantity {
	int64_t units;
	uint32_t nanos; /* below 10^9 */
};

/* The grammar of apimachinery's resource.ParseQuantity: digits with an optional
 * point, then n u m k M G T P E, Ki Mi Gi Ti Pi Ei or e/E with an exponent.
 * Fractions of a billionth round up.
 * -EBADMSG: not a quantity, or negative: the API has no negative amounts
 * here. */
must_check int quantity_parse(struct quantity *out, const char *text,
	struct error *err);

struct quantity quantity_add(struct quantity a, struct quantity b);
struct quantity quantity_larger(struct quantity a, struct quantity b);

/* Below 0: a < b; 0: equal; above 0: a > b. */
int quantity_compare(struct quantity a, struct quantity b);

/* Rounded up: base units (bytes, devices), or thousandths (milli-CPUs). */
int64_t quantity_units(struct quantity q);
int64_t quantity_milli(struct quantity q);
