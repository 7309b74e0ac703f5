"""The benchmark of mathematical functions: sums over repeated passes of a block."""

import math

from registry import oracle

FUNCTIONS = "bench/programs/functions.fut"


def over(function, rounds, xs):
    return math.fsum(function(x + 1e-6 * r) for r in range(rounds) for x in xs)


def register(name, function):
    for elem in ["f32", "f64"]:
        def total(rounds, xs):
            return over(function, rounds, xs)

        total.__name__ = f"{name}_{elem}"
        oracle(FUNCTIONS, elem)(total)


for name in ["exp", "log", "sin", "cos"]:
    register(name, getattr(math, name))


def power(rounds, xs, ys):
    return math.fsum((x + 1e-6 * r) ** y for r in range(rounds) for x, y in zip(xs, ys))


@oracle(FUNCTIONS, "f32")
def pow_f32(rounds, xs, ys):
    return power(rounds, xs, ys)


@oracle(FUNCTIONS, "f64")
def pow_f64(rounds, xs, ys):
    return power(rounds, xs, ys)
