"""Derivatives of loops with accumulators and with arrays that change their sizes: first ones by complex steps, second
ones by dual numbers over complex steps."""

import cmath
import math

from oracle_derivatives import Dual, dual, gradient
from registry import oracle

ACCUMULATORS = "tests/programs/derivatives/accumulators.fut"
# Functions whose second derivatives are entry points, too.
TWICE = {"nested", "until", "halving", "updated"}
GROWING = "tests/programs/derivatives/growing_arrays.fut"


def real(x):
    return complex(dual(x).x).real


def sin(x):
    x = dual(x)
    return Dual(cmath.sin(x.x), cmath.cos(x.x) * x.dx)


def cos(x):
    x = dual(x)
    return Dual(cmath.cos(x.x), -cmath.sin(x.x) * x.dx)


def value_first(x, to):
    for i in range(len(x)):
        y = x[i]
        for k in range(3):
            to[(i + k) % len(x)] += y * y
            y = sin(y) * 1.5


def alone(x, to):
    for i in range(len(x)):
        for k in range(3):
            to[(i + k) % len(x)] += x[i] * x[(i + 2 * k) % len(x)]


def branch(x, to):
    for i in range(len(x)):
        y = x[i]
        for k in range(4):
            if k % 2 == 0:
                to[(i + k) % len(x)] += y * y * x[k % len(x)]
                y = sin(y) * 1.5
            else:
                y = y * y
        if real(y) > 0:
            to[0] += y * y


def nested(x, to):
    for i in range(len(x)):
        y = x[i]
        for k in range(3):
            y = y * 0.9
            for j in range(k):
                to[(i * k + j) % len(x)] += y * y * x[j % len(x)]
                y = cos(y)


def until(x, to):
    for i in range(len(x)):
        y = x[i] * x[i] + 0.01
        while real(y) < 8:
            to[int(real(y) * 10) % len(x)] += y * sin(y)
            y = y * 2


def arrays(x, to):
    n = len(x)
    for i in range(n):
        ys = [a * x[i] for a in x]
        for k in range(3):
            if k < n:
                to[k] += ys[0] * ys[n - 1]
            to[(i + k) % n] += sum(ys)
            next_one = ys[(k + 1) % n] * x[k % n]
            ys = [sin(y) for y in ys]
            ys[k % n] = next_one


def growing(xs):
    ys = list(xs)
    for _ in range(3):
        ys += [y * xs[0] for y in ys]
    return sum(ys)


def halving(xs):
    ys = list(xs)
    while len(ys) > 1:
        k = len(ys) // 2
        ys = [a * sin(b) + b for a, b in zip(ys[:k], ys[k : 2 * k])]
    return sum(ys)


def updated(xs):
    ys = list(xs)
    for i in range(4):
        ys[i % len(ys)] = ys[0] * ys[-1]
        ys = ys[1:] + [sin(ys[0]), ys[0]] if i % 2 == 0 else ys[:-1]
    return sum((i + 1) * y for i, y in enumerate(ys))


def matrices(xs):
    yss = [list(xs)]
    for i in range(2):
        yss = [[y * cos(ys[0]) for y in [*ys, dual(i + 1)]] for ys in yss + yss]
    return sum(math.prod(ys[1:], start=ys[0]) for ys in yss)


def in_a_map(xs):
    total = dual(0)
    for x in xs:
        ys = [x]
        while len(ys) < 4 and real(ys[-1]) < 2:
            ys.append(ys[-1] * x + 0.5)
        total += sum(ys)
    return total


def beside_integers(xs):
    count, y = 1, sum(xs)
    for _ in range(4):
        y = y * count * xs[0]
        count += 1
    return y


def register(program, f, twice):
    """Makes the gradient of a function an oracle, and if `twice`, the derivative of it times the argument."""

    def first(xs):
        return gradient(lambda x: dual(f([dual(a) for a in x])).x, xs)

    def second(xs):
        return gradient(lambda x: dual(f([Dual(a, a) for a in x])).dx, xs)

    first.__name__, second.__name__ = "of_" + f.__name__, "second_of_" + f.__name__
    oracle(program, "[]f64")(first)
    if twice:
        oracle(program, "[]f64")(second)


def objective(f):
    """The weighted sum of cosines of a list that `f` computes."""

    def of(x):
        return sum((cos(a) * (i + 1) for i, a in enumerate(f(x))), Dual(0))

    of.__name__ = f.__name__
    return of


def sums(f):
    """What `f` adds up."""

    def of(x):
        to = list(x)
        f(x, to)
        return to

    of.__name__ = f.__name__
    return of


for added in (value_first, alone, branch, nested, until, arrays):
    register(ACCUMULATORS, objective(sums(added)), added.__name__ in TWICE)
for changed in (growing, halving, updated, matrices, in_a_map, beside_integers):
    register(GROWING, changed, changed.__name__ in TWICE)
