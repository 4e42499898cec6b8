/* Numbers to decimal text: the same text as printf, several times faster.
 * Responses consist mostly of numbers. And whole numbers from text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DECIMAL_MAX = 32, DECIMAL_DIGITS_MAX = 17 };

/* Each function writes text and a NUL, at most DECIMAL_MAX bytes, and returns
 * the length without the NUL. */
size_t decimal_unsigned(char *out, uint64_t value);
size_t decimal_integer(char *out, int64_t value);

/* A time as seconds, with up to six decimals as needed. */
size_t decimal_seconds(char *out, uint64_t us);

/* For people: whole numbers below 10^15, such as bytes, in full; other numbers
 * with nine significant digits. value is finite. */
size_t decimal_figure(char *out, double value);

/* Same as "%.*g" with 1 to DECIMAL_DIGITS_MAX significant digits, rounded
 * correctly. value is finite. */
size_t decimal_number(char *out, double value, int digits);

enum decimal_kind {
	DECIMAL_WHOLE,
	DECIMAL_ROUNDED, /* number holds nine digits */
	DECIMAL_HARD,	 /* formatted by printf, or not finite */
};

/* A number between rounding and formatting. */
struct decimal {
	double value;
	uint64_t number;
	int power; /* power of ten of the first digit */
	enum decimal_kind kind;
};

/* decimal_figure() in two steps. For several values, rounding all of them first
 * takes two thirds of the time: the processor rounds them in parallel. */
void decimal_round(struct decimal *out, const double *values, size_t count);

/* Same as decimal_figure(). The value is finite. */
size_t decimal_put(char *out, const struct decimal *figure);

/* Reads digits and moves *at behind them. False, and *value as it was: there
 * are none, or the number is above `most`. */
bool decimal_parse(uint64_t *value, const char **at, uint64_t most);
