#include "lib/decimal.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Powers of ten that a double holds exactly. */
static const double powers[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8,
	1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
	1e21, 1e22 };

enum {
	POWER_MAX = sizeof(powers) / sizeof(powers[0]) - 1,
	QUICK_DIGITS_MAX = 15, /* whole numbers beyond are not exact */
	/* "%g" turns to exponents below this. */
	FIXED_MIN = -4,
};

size_t decimal_unsigned(char *out, uint64_t value)
{
	char digits[DECIMAL_MAX];
	size_t len = 0;
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	len = sizeof(digits) - at;
	memcpy(out, &digits[at], len);
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

/* value * 10^shift with one rounding; false: no power for it. */
static bool scale(double *out, double value, int shift)
{
	if (shift < -POWER_MAX || shift > POWER_MAX) {
		return false;
	}
	*out = shift < 0 ? value / powers[-shift] : value * powers[shift];
	return true;
}

/* The digits as a whole number and the power of the first. False: it is too
 * near the middle of two such numbers for a double to tell, or too large or
 * small. */
static bool round_to(uint64_t *number, int *power, double value, int digits)
{
	double scaled, whole;

	*power = (int)floor(log10(value));
	if (!scale(&scaled, value, digits - 1 - *power)) {
		return false;
	}
	/* The logarithm may be one off next to a power of ten. */
	if (scaled >= powers[digits] || scaled < powers[digits - 1]) {
		*power += scaled < powers[digits - 1] ? -1 : 1;
		if (!scale(&scaled, value, digits - 1 - *power)) {
			return false;
		}
	}
	whole = floor(scaled);
	if (fabs(scaled - whole - 0.5) < 1e-3 + scaled * 0x1p-52) {
		return false;
	}
	*number = (uint64_t)whole + (scaled - whole > 0.5 ? 1 : 0);
	if ((double)*number >= powers[digits]) {
		*number /= 10;
		*power += 1;
	}
	return true;
}

static size_t put_exponent(char *out, int power)
{
	size_t len = 0;

	out[len++] = 'e';
	out[len++] = power < 0 ? '-' : '+';
	power = power < 0 ? -power : power;
	if (power < 10) {
		out[len++] = '0';
	}
	return len + decimal_unsigned(out + len, (uint64_t)power);
}

static size_t put_zeros(char *out, size_t count)
{
	memset(out, '0', count);
	return count;
}

/* The point stands after `before` of the digits; 0 and less: zeros lead. */
static size_t put_fixed(char *out, const char *text, size_t count, int before)
{
	size_t len = 0;
	size_t head = before < 0 ? 0 : (size_t)before;

	if (head >= count) {
		memcpy(out, text, count);
		return count + put_zeros(out + count, head - count);
	}
	if (head == 0) {
		out[len++] = '0';
	}
	memcpy(out + len, text, head);
	len += head;
	out[len++] = '.';
	len += put_zeros(out + len, before < 0 ? (size_t)-before : 0);
	memcpy(out + len, text + head, count - head);
	return len + count - head;
}

size_t decimal_number(char *out, double value, int digits)
{
	char text[DECIMAL_MAX];
	uint64_t number;
	size_t len = 0;
	size_t count;
	int power;

	assert(isfinite(value) && digits > 0 && digits <= DECIMAL_DIGITS_MAX);
	if (value == 0 || digits > QUICK_DIGITS_MAX ||
		!round_to(&number, &power, fabs(value), digits)) {
		return (size_t)snprintf(out, DECIMAL_MAX, "%.*g", digits,
			value);
	}
	count = decimal_unsigned(text, number);
	while (count > 1 && text[count - 1] == '0') {
		count--;
	}
	if (value < 0) {
		out[len++] = '-';
	}
	if (power < FIXED_MIN || power >= digits) {
		len += put_fixed(out + len, text, count, 1);
		len += put_exponent(out + len, power);
	} else {
		len += put_fixed(out + len, text, count, power + 1);
	}
	out[len] = '\0';
	return len;
}
