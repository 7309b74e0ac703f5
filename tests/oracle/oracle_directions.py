"""Derivatives in several directions, by complex steps."""

import cmath

from futdata import Empty
from oracle_derivatives import STEP
from registry import oracle

DIRECTIONS = "tests/programs/derivatives/directions.fut"


def along_direction(f, xs, direction):
    """The derivative of an analytic function of a list to a list along a direction."""
    moved = [complex(x, STEP * d) for x, d in zip(xs, direction)]
    return [complex(y).imag / STEP for y in f(moved)]


def chain(parents, angles):
    turns = [(cmath.cos(a), cmath.sin(a)) for a in angles]
    every = list(turns)
    for i, parent in enumerate(parents):
        if parent >= 0:
            (a, b), (c, d) = every[parent], turns[i]
            every[i] = (a * c - b * d, a * d + b * c)
    made = [
        (x * cmath.exp(y), y) if i % 3 == 2 else (x + y, cmath.sqrt(2 + x))
        for i, (x, y) in enumerate(every)
    ]
    return [z for pair in made for z in pair]


@oracle(DIRECTIONS, "[][][]f64", "[][][]f64")
def jacobians(parents, angles):
    n = len(angles)
    if n == 0:
        return Empty([0, 0, 2]), Empty([0, 0, 2])
    rows = []
    for i in range(n):
        own = along_direction(lambda xs: chain(parents, xs), angles, [float(i == j) for j in range(n)])
        rows.append([own[2 * j : 2 * j + 2] for j in range(n)])
    return rows, rows


@oracle(DIRECTIONS, "[]f64")
def along(xs, at, directions):
    def f(y):
        zs = [cmath.sin(x * y[0]) for x in xs]
        p, q = y[0], zs[at]
        for z in zs:
            p, q = p * cmath.exp(q), q / (1 + z * z)
        return [p + q + sum(z * p for z in zs)]

    made = [along_direction(f, [xs[0]], [d * xs[0]])[0] for d in directions]
    return made if made else Empty([0])


@oracle(DIRECTIONS, "[][]f64")
def rows(seeds, x):
    def f(x):
        n, y = len(x), list(x)
        for i in range(2 + int(sum(x).real * 3)):
            y[i % n] = cmath.log(1 + y[(i + 1) % n] * y[i % n])
        return [sum(cmath.cos(a * b) for b in x) for a in y]

    return [along_direction(f, x, seed) for seed in seeds]
