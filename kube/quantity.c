#include "kube/quantity.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "lib/memory.h"

__extension__ typedef unsigned __int128 wide;

enum {
	NANOS = 1000000000,
	NANO_DIGITS = 9,
	/* 10^20 * 2^60 fits into 128 bits. Further digits behind the point only
	 * matter for rounding, further digits before it only for saturation. */
	DIGITS_MAX = 20,
	WIDE_DIGITS_MAX = 38,
	EXPONENT_MAX = 1000,
};

static const struct suffix {
	const char *text;
	int exponent; /* of 10, or of 2 */
	bool is_binary;
} suffixes[] = {
	{ "", 0, false },
	{ "n", -9, false },
	{ "u", -6, false },
	{ "m", -3, false },
	{ "k", 3, false },
	{ "M", 6, false },
	{ "G", 9, false },
	{ "T", 12, false },
	{ "P", 15, false },
	{ "E", 18, false },
	{ "Ki", 10, true },
	{ "Mi", 20, true },
	{ "Gi", 30, true },
	{ "Ti", 40, true },
	{ "Pi", 50, true },
	{ "Ei", 60, true },
};

/* mantissa * 10^exponent, and a fraction more if is_inexact. */
struct number {
	wide mantissa;
	int digits; /* of the mantissa */
	int exponent;
	bool is_inexact;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void push_digit(struct number *n, char c, bool is_fraction)
{
	if (n->digits < DIGITS_MAX) {
		n->mantissa = n->mantissa * 10 + (unsigned int)(c - '0');
		n->digits += n->mantissa != 0;
		n->exponent -= is_fraction;
		return;
	}
	n->exponent += !is_fraction;
	n->is_inexact |= c != '0';
}

/* Reads digits with an optional point. Returns the rest of the text. */
static const char *scan_number(struct number *n, const char *at)
{
	for (; is_digit(*at); at++) {
		push_digit(n, *at, false);
	}
	if (*at == '.') {
		for (at++; is_digit(*at); at++) {
			push_digit(n, *at, true);
		}
	}
	return at;
}

/* Reads the text after an e or E: a sign and at least one digit. */
static bool scan_exponent(int *exponent, const char *at)
{
	bool is_negative = *at == '-';
	int value = 0;

	if (*at == '-' || *at == '+') {
		at++;
	}
	if (!is_digit(*at)) {
		return false;
	}
	for (; is_digit(*at); at++) {
		if (value < EXPONENT_MAX) {
			value = value * 10 + (*at - '0');
		}
	}
	*exponent = is_negative ? -value : value;
	return *at == '\0';
}

static bool scan_suffix(int *exponent, bool *is_binary, const char *at)
{
	for (size_t i = 0; i < count_of(suffixes); i++) {
		if (strcmp(at, suffixes[i].text) == 0) {
			*exponent = suffixes[i].exponent;
			*is_binary = suffixes[i].is_binary;
			return true;
		}
	}
	*is_binary = false;
	return (*at == 'e' || *at == 'E') && scan_exponent(exponent, at + 1);
}

static wide power_of_ten(int exponent)
{
	wide power = 1;

	while (exponent-- > 0) {
		power *= 10;
	}
	return power;
}

/* Rounds up to billionths; false: more than 128 bits. */
static bool to_nanos(wide *out, const struct number *n)
{
	int exponent = n->exponent + NANO_DIGITS;
	wide nanos = n->mantissa;
	bool is_inexact = n->is_inexact;

	if (nanos == 0) {
		*out = 0;
		return true;
	}
	if (exponent > WIDE_DIGITS_MAX) {
		return false;
	}
	if (exponent < -WIDE_DIGITS_MAX) {
		*out = 1;
		return true;
	}
	if (exponent >= 0) {
		if (__builtin_mul_overflow(nanos, power_of_ten(exponent),
			    &nanos)) {
			return false;
		}
	} else {
		is_inexact |= nanos % power_of_ten(-exponent) != 0;
		nanos /= power_of_ten(-exponent);
	}
	*out = nanos + is_inexact;
	return true;
}

int quantity_parse(struct quantity *out, const char *text, struct error *err)
{
	struct number n = { 0 };
	const char *at = text + (*text == '+');
	bool is_binary = false;
	int exponent = 0;
	wide nanos = 0;

	if (!is_digit(*at) && *at != '.') {
		return error_set(err, -EBADMSG,
			"'%.40s' is not a quantity such as 200m or 4Gi", text);
	}
	at = scan_number(&n, at);
	if (!scan_suffix(&exponent, &is_binary, at)) {
		return error_set(err, -EBADMSG,
			"quantity '%.40s' ends in an unknown suffix", text);
	}
	if (is_binary) {
		n.mantissa <<= exponent;
	} else {
		n.exponent += exponent;
	}
	if (!to_nanos(&nanos, &n) || nanos / NANOS > INT64_MAX) {
		*out = (struct quantity){ .units = INT64_MAX };
		return 0;
	}
	*out = (struct quantity){
		.units = (int64_t)(nanos / NANOS),
		.nanos = (uint32_t)(nanos % NANOS),
	};
	return 0;
}

struct quantity quantity_add(struct quantity a, struct quantity b)
{
	uint32_t nanos = a.nanos + b.nanos;
	struct quantity sum = { .nanos = nanos % NANOS };

	if (__builtin_add_overflow(a.units, b.units, &sum.units) ||
		__builtin_add_overflow(sum.units, (int64_t)(nanos / NANOS),
			&sum.units)) {
		return (struct quantity){ .units = INT64_MAX };
	}
	return sum;
}

int quantity_compare(struct quantity a, struct quantity b)
{
	int by_units = (a.units > b.units) - (a.units < b.units);

	return by_units != 0 ? by_units
			     : (a.nanos > b.nanos) - (a.nanos < b.nanos);
}

struct quantity quantity_larger(struct quantity a, struct quantity b)
{
	return quantity_compare(a, b) > 0 ? a : b;
}

int64_t quantity_units(struct quantity q)
{
	return q.units < INT64_MAX ? q.units + (q.nanos > 0) : q.units;
}

int64_t quantity_milli(struct quantity q)
{
	const uint32_t nanos_per_milli = NANOS / 1000;
	int64_t milli;

	if (__builtin_mul_overflow(q.units, 1000, &milli) ||
		__builtin_add_overflow(milli,
			(int64_t)((q.nanos + nanos_per_milli - 1) /
				nanos_per_milli),
			&milli)) {
		return INT64_MAX;
	}
	return milli;
}
