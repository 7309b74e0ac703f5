"""Derivatives of accumulators whose operators are not sums, one update at a time."""

import cmath

from oracle_accumulators import gather
from oracle_derived_loops import cos, objective, real, register, sin
from oracle_derivatives import Dual, dual

UPDATES = "tests/programs/derivatives/updates_by_operators.fut"


def exp(x):
    x = dual(x)
    return Dual(cmath.exp(x.x), cmath.exp(x.x) * x.dx)


def times(a, b):
    return a * b


def products(x):
    n = len(x)
    return gather(map(cos, x), times, ((i * 2 % (n + 1), x[i] * x[(i + 1) % n]) for i in range(n)))


def greatest(x):
    writes = []
    for i, a in enumerate(x):
        writes += [(i // 2, sin(a)), (i % 2, a * a)]
    return gather([dual(-1)] * len(x), lambda a, b: b if real(b) > real(a) else a, writes)


def any_operator(x):
    n, writes = len(x), []
    for i in range(n):
        for k in range(i % 3 + 1):
            if (i + k) % 4 != 3:
                writes.append(((i + k) % n, sin(x[i] * k)))
                if k == 1:
                    writes.append((k, x[k % n]))
    return gather(x, lambda a, b: a + b + x[0] * a * b, writes)


def pairs(x):
    n = len(x)
    one = [(a, dual(1)) for a in x]
    writes = ((i * i % n, (exp(x[i]), x[(i + 1) % n])) for i in range(n))
    op = lambda y, z: (y[0] * z[0], y[0] * z[1] + y[1])
    return [a * b for a, b in gather(one, op, writes)]


def nested(x):
    n, writes = len(x), []
    for i in range(n):
        own = ((j // 2, x[i] * x[j]) for j in range(n) if j % 2 == i % 2)
        ys = gather([a + x[i] for a in x], times, own)
        writes += [(k, y) for k, y in enumerate(ys) if real(y) > 0.5]
    return gather([dual(1)] * n, lambda a, b: a * b + a + b, writes)


any_operator.__name__ = "any"
for updated in (products, greatest, any_operator, pairs, nested):
    register(UPDATES, objective(updated), updated not in (pairs, nested))
