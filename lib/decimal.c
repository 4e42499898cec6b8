#include "lib/decimal.h"

#include <assert.h>
#include <endian.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* From 10^-POWER_MAX up; the powers below 1 are rounded. */
static const double powers[] = { 1e-22, 1e-21, 1e-20, 1e-19, 1e-18, 1e-17,
	1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6,
	1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7,
	1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
	1e20, 1e21, 1e22 };

static const uint64_t zeros = 0x3030303030303030;
/* Set in the last digit of a word. */
static const uint64_t last = UINT64_C(1) << 56;
static const uint64_t group = 100000000;

enum {
	POWER_MAX = 22, /* the largest power that a double holds exactly */
	QUICK_DIGITS_MAX = 15, /* larger whole numbers are not exact */
	/* "%g" uses exponents below this. */
	FIXED_MIN = -4,
	FIGURE_DIGITS = 9,
	GROUP = 8,
};

/* Eight digits as a word whose lowest byte is the first digit; value is below
 * 10^8. The digits are computed in parallel: two groups of four, then four of
 * two, then eight. n * 10486 >> 20 is n / 100 for all n below 10^4, and n * 103
 * >> 10 is n / 10 for all n below 100. */
static inline uint64_t digits_of(uint32_t value)
{
	uint64_t fours = value / 10000 | (uint64_t)(value % 10000) << 32;
	uint64_t hundreds = fours * 10486 >> 20 & 0x0000007f0000007f;
	uint64_t twos = hundreds | (fours - hundreds * 100) << 16;
	uint64_t tens = twos * 103 >> 10 & 0x000f000f000f000f;

	return tens | (twos - tens * 10) << 8 | zeros;
}

static void put_word(char *out, uint64_t word)
{
	word = htole64(word);
	memcpy(out, &word, sizeof(word));
}

/* Writes value without leading zeros; returns the number of digits. */
static size_t put_first(char *out, uint32_t value)
{
	uint64_t word = digits_of(value);
	/* A value of 0 keeps one digit. */
	unsigned int lead =
		(unsigned int)__builtin_ctzll((word ^ zeros) | last) / 8;

	put_word(out, word >> (lead * 8));
	return GROUP - lead;
}

size_t decimal_unsigned(char *out, uint64_t value)
{
	uint64_t above = value / group;
	size_t len = 0;

	if (value < group) {
		len = put_first(out, (uint32_t)value);
		out[len] = '\0';
		return len;
	}
	if (above < group) {
		len = put_first(out, (uint32_t)above);
	} else {
		len = put_first(out, (uint32_t)(above / group));
		put_word(out + len, digits_of((uint32_t)(above % group)));
		len += GROUP;
	}
	put_word(out + len, digits_of((uint32_t)(value % group)));
	len += GROUP;
	out[len] = '\0';
	return len;
}

size_t decimal_integer(char *out, int64_t value)
{
	if (value >= 0) {
		return decimal_unsigned(out, (uint64_t)value);
	}
	out[0] = '-';
	return 1 + decimal_unsigned(out + 1, 0 - (uint64_t)value);
}

size_t decimal_seconds(char *out, uint64_t us)
{
	size_t len = decimal_unsigned(out, us / 1000000);
	uint32_t rest = (uint32_t)(us % 1000000);

	if (rest > 0) {
		out[len++] = '.';
	}
	for (; rest > 0; rest = rest % 100000 * 10) {
		out[len++] = (char)('0' + rest / 100000);
	}
	out[len] = '\0';
	return len;
}

bool decimal_parse(uint64_t *value, const char **at, uint64_t most)
{
	const char *begin = *at;
	uint64_t sum = 0;

	for (; **at >= '0' && **at <= '9'; (*at)++) {
		uint64_t digit = (uint64_t)(**at - '0');

		if (digit > most || sum > (most - digit) / 10) {
			return false;
		}
		sum = sum * 10 + digit;
	}
	if (*at == begin) {
		return false;
	}
	*value = sum;
	return true;
}

static double power_of_ten(int power)
{
	return powers[power + POWER_MAX];
}

/* The power of ten of value's first digit, or one less: the power of ten of the
 * largest power of two that is not above value. 2^2136 is close to 10^643, and
 * 78913 / 2^18 is just below log10(2), so no negative number is shifted. */
static int guess_power(double value)
{
	const uint64_t above = 2136;
	const int above_power = 643;
	const uint64_t bias = 1023;
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return (int)(((bits >> 52) + above - bias) * 78913 >> 18) - above_power;
}

/* With a number of digits known at compile time these functions take four
 * fifths of the time; gcc would not clone functions of this size by itself. */
#define for_each_count __attribute__((always_inline)) static inline

/* Rounds value to a whole number with this many digits and the power of its
 * first digit. False: value is too large or small, or so close to the middle of
 * two results that a double cannot decide. */
for_each_count bool round_to(uint64_t *number, int *power, double value,
	int digits)
{
	const double end = power_of_ten(digits);
	int first = guess_power(value);
	double scaled, rest;
	int shift;

	if (first < -POWER_MAX || first >= POWER_MAX) {
		return false;
	}
	first += value >= power_of_ten(first + 1) ? 1 : 0;
	shift = digits - 1 - first;
	if (shift < -POWER_MAX || shift > POWER_MAX) {
		return false;
	}
	/* Both operands are exact, so this rounds once. */
	scaled = shift < 0 ? value / power_of_ten(-shift)
			   : value * power_of_ten(shift);
	/* The power may be one off next to a power of ten. */
	if (scaled >= end || scaled < power_of_ten(digits - 1)) {
		return false;
	}
	*number = (uint64_t)(int64_t)scaled;
	rest = scaled - (double)(int64_t)*number;
	/* Twice the error of that rounding. */
	if (fabs(rest - 0.5) <= scaled * 0x1p-52) {
		return false;
	}
	*number += rest > 0.5 ? 1 : 0;
	*power = first;
	if (*number >= (uint64_t)(int64_t)end) {
		*number /= 10;
		*power += 1;
	}
	return true;
}

/* At least two digits; no power here has more. */
static size_t put_exponent(char *out, int power)
{
	out[0] = 'e';
	out[1] = power < 0 ? '-' : '+';
	power = power < 0 ? -power : power;
	out[2] = (char)('0' + power / 10);
	out[3] = (char)('0' + power % 10);
	return 4;
}

/* The sixteen digits of a number that is padded with zeros at the end; the
 * first digit is not 0. */
struct digits {
	uint64_t head, tail;
	size_t count; /* without trailing zeros */
};

static size_t count_used(uint64_t word)
{
	return GROUP - (size_t)__builtin_clzll(word ^ zeros) / 8;
}

/* number has `digits` digits. */
for_each_count struct digits split(uint64_t number, int digits)
{
	static const uint64_t fill[] = { 1, 10, 100, 1000, 10000, 100000,
		1000000, 10000000, 100000000, 1000000000, 10000000000,
		100000000000, 1000000000000, 10000000000000, 100000000000000,
		1000000000000000 };
	uint64_t sixteen, head, tail;

	if (digits == GROUP + 1) { /* the usual case */
		head = digits_of((uint32_t)number / 10);
		tail = zeros + (uint32_t)number % 10;
	} else {
		sixteen = number * fill[2 * GROUP - digits];
		head = digits_of((uint32_t)(sixteen / group));
		tail = digits_of((uint32_t)(sixteen % group));
	}
	return (struct digits){ head, tail,
		tail == zeros ? count_used(head) : GROUP + count_used(tail) };
}

/* Writes the digits with the point after the first `before` ones, at most 15.
 * If `before` is between FIXED_MIN + 1 and 0, leading zeros are written. Always
 * stores whole words: copies of variable length are slower, and so are loads of
 * bytes that were just stored separately. */
for_each_count size_t put_fixed(char *out, const struct digits *digits,
	int before)
{
	static const char lead[8] = "0.000000";
	const unsigned int shift = (unsigned int)before % GROUP * 8;

	if (before <= 0) {
		size_t at = 2 + (size_t)-before;

		memcpy(out, lead, sizeof(lead));
		put_word(out + at, digits->head);
		put_word(out + at + GROUP, digits->tail);
		return at + digits->count;
	}
	put_word(out, digits->head);
	put_word(out + GROUP, digits->tail);
	if ((size_t)before >= digits->count) {
		return (size_t)before;
	}
	out[before] = '.';
	out += before + 1;
	if (before >= GROUP) {
		put_word(out, digits->tail >> shift);
	} else {
		put_word(out,
			digits->head >> shift | digits->tail << (64 - shift));
		put_word(out + GROUP, digits->tail >> shift);
	}
	return 1 + digits->count;
}

/* number has `digits` digits; power is that of the first. */
for_each_count size_t put_rounded(char *out, uint64_t number, int power,
	int digits)
{
	struct digits text = split(number, digits);
	bool has_exponent = power < FIXED_MIN || power >= digits;
	size_t len = 0;

	len += put_fixed(out + len, &text, has_exponent ? 1 : power + 1);
	if (has_exponent) {
		len += put_exponent(out + len, power);
	}
	out[len] = '\0';
	return len;
}

static size_t put_sign(char *out, double value)
{
	out[0] = '-';
	return value < 0 ? 1 : 0;
}

size_t decimal_number(char *out, double value, int digits)
{
	uint64_t number;
	size_t len;
	int power;

	assert(isfinite(value) && digits > 0 && digits <= DECIMAL_DIGITS_MAX);
	if (value == 0 || digits > QUICK_DIGITS_MAX ||
		!round_to(&number, &power, fabs(value), digits)) {
		return (size_t)snprintf(out, DECIMAL_MAX, "%.*g", digits,
			value);
	}
	len = put_sign(out, value);
	return len + put_rounded(out + len, number, power, digits);
}

void decimal_round(struct decimal *out, const double *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const double value = values[i];
		struct decimal *figure = &out[i];

		figure->value = value;
		if (fabs(value) < 1e15 && value == (double)(int64_t)value) {
			figure->kind = DECIMAL_WHOLE;
		} else if (round_to(&figure->number, &figure->power,
				   fabs(value), FIGURE_DIGITS)) {
			figure->kind = DECIMAL_ROUNDED;
		} else {
			figure->kind = DECIMAL_HARD;
		}
	}
}

size_t decimal_put(char *out, const struct decimal *figure)
{
	size_t len;

	switch (figure->kind) {
	case DECIMAL_WHOLE:
		return decimal_integer(out, (int64_t)figure->value);
	case DECIMAL_ROUNDED:
		len = put_sign(out, figure->value);
		return len +
			put_rounded(out + len, figure->number, figure->power,
				FIGURE_DIGITS);
	case DECIMAL_HARD:
		break;
	}
	return decimal_number(out, figure->value, FIGURE_DIGITS);
}

size_t decimal_figure(char *out, double value)
{
	struct decimal figure;

	decimal_round(&figure, &value, 1);
	return decimal_put(out, &figure);
}
