/* Numbers as decimal text, as printf would write them, several times faster:
 * answers are made of little else. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { DECIMAL_MAX = 32, DECIMAL_DIGITS_MAX = 17 };

/* Each writes text with its NUL, within DECIMAL_MAX bytes, and returns the length
 * without it. */
size_t decimal_unsigned(char *out, uint64_t value);
size_t decimal_integer(char *out, int64_t value);

/* As a person wants a figure: whole numbers below 10^15, such as bytes, in full;
 * of others nine significant digits. value is finite. */
size_t decimal_figure(char *out, double value);

/* As "%.*g" with this many significant digits, 1 to DECIMAL_DIGITS_MAX, rounded
 * correctly. value is finite. */
size_t decimal_number(char *out, double value, int digits);

enum decimal_kind {
	DECIMAL_WHOLE,
	DECIMAL_ROUNDED, /* number holds nine digits */
	DECIMAL_HARD,	 /* left to printf, or not finite */
};

/* A figure on its way to text. */
struct decimal {
	double value;
	uint64_t number;
	int power; /* of ten, of the first digit */
	enum decimal_kind kind;
};

/* decimal_figure() in two steps. Who has several takes two thirds of the time
 * by rounding all of them first: a processor does that side by side. */
void decimal_round(struct decimal *out, const double *values, size_t count);

/* As decimal_figure(). The value is finite. */
size_t decimal_put(char *out, const struct decimal *figure);
