"""Prints the table of scheduler/forecast/shortage_table.h.

    python3 tests/support/shortage_table.py > scheduler/forecast/shortage_table.h

A gamma distribution of mean 0, variance 1 and a given skewness is shifted to
its mean. A figure is the natural logarithm of E[max(0, X - z)]. The tail is
integrated numerically; tests/unit/scheduler/forecast/test_shortage.c integrates
it in another way and compares.
"""
import math

ROWS, COLUMNS = 20, 16  # intervals of skewness and of distance
SHARE_MAX, HALF, FAR, NEAR = 0.95, 2.0, 14.0, 0.25
STEPS = 4000


def normal(z):
    return (math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
            - z * math.erfc(z / math.sqrt(2)) / 2)


def density(k, x):
    """x^k e^-x / Gamma(k): x times the density of the gamma distribution."""
    return math.exp(k * math.log(x) - x - math.lgamma(k))


def near(k, x):
    """E[max(0, G - x)] for a gamma G of shape k, by the series of its lower
    tail."""
    total = term = 1 / k
    n = k
    while term > 1e-17 * total:
        n += 1
        term *= x / n
        total += term
    p = density(k, x)
    return (k - x) * (1 - total * p) + p


def far(k, x):
    """The same for x above k, by the midpoint rule: no difference of two nearly
    equal tails."""
    rate = max(1 - (k - 1) / x, 1 / math.sqrt(k + 1))
    step = 60 / rate / STEPS
    us = ((i + 0.5) * step for i in range(STEPS))
    total = sum(u * math.exp((k - 1) * math.log1p(u / x) - u) for u in us)
    return density(k, x) / x * total * step


def shortage(z, skewness):
    if skewness == 0:
        return normal(z)
    k = 4 / skewness ** 2
    x = (z + 2 / skewness) * 2 / skewness
    gamma = near(k, x) if x < k + 1 else far(k, x)
    return gamma * skewness / 2


def row_of(i):
    share = SHARE_MAX * i / ROWS
    skewness = HALF * share / (1 - share)
    first = -2 / math.sqrt(skewness ** 2 + NEAR)
    for j in range(COLUMNS + 1):
        z = first + (FAR - first) * (j / COLUMNS) ** 2
        yield math.log(shortage(z, skewness))


def main():
    print("/* Made by tests/support/shortage_table.py, which says what the "
          "figures are.\n * shortage.c alone reads it. */\n#pragma once\n")
    print(f"enum {{ SHORTAGE_ROWS = {ROWS}, SHORTAGE_COLUMNS = {COLUMNS} }};\n")
    print("/* clang-format off */\nstatic const float "
          "shortage_log[SHORTAGE_ROWS + 1][SHORTAGE_COLUMNS + 1] = {")
    for i in range(ROWS + 1):
        texts = [f"{figure:.6g}F" if "." in f"{figure:.6g}"
                 else f"{figure:.6g}.0F" for figure in row_of(i)]
        print("\t{ " + ", ".join(texts[:6]) + ",")
        print("\t  " + ", ".join(texts[6:12]) + ",")
        print("\t  " + ", ".join(texts[12:]) + " },")
    print("};\n/* clang-format on */")


if __name__ == "__main__":
    main()
