"""Derivatives of accumulators in loops: first ones by complex steps, second ones by dual numbers over complex steps."""

import cmath

from oracle_derivatives import gradient
from registry import oracle

PROGRAM = "tests/programs/derivatives/accumulators.fut"


class Dual:
    """A complex number and its derivative in one direction."""

    def __init__(self, value, tangent=0):
        self.value, self.tangent = value, tangent

    def __add__(self, other):
        other = dual(other)
        return Dual(self.value + other.value, self.tangent + other.tangent)

    def __mul__(self, other):
        other = dual(other)
        return Dual(self.value * other.value, self.value * other.tangent + self.tangent * other.value)

    __radd__, __rmul__ = __add__, __mul__


def dual(x):
    return x if isinstance(x, Dual) else Dual(x)


def real(x):
    return complex(dual(x).value).real


def sin(x):
    x = dual(x)
    return Dual(cmath.sin(x.value), cmath.cos(x.value) * x.tangent)


def cos(x):
    x = dual(x)
    return Dual(cmath.cos(x.value), -cmath.sin(x.value) * x.tangent)


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


def objective(f, x):
    """The weighted sum of cosines of `f`'s result."""
    to = [dual(a) for a in x]
    f(x, to)
    return sum((cos(a) * (i + 1) for i, a in enumerate(to)), Dual(0))


def register(f):
    def first(xs):
        return gradient(lambda x: objective(f, x).value, xs)

    def second(xs):
        return gradient(lambda x: objective(f, [Dual(a, a) for a in x]).tangent, xs)

    for name, result in (("of_" + f.__name__, first), ("second_of_" + f.__name__, second)):
        result.__name__ = name
        oracle(PROGRAM, "[]f64")(result)


for program in (value_first, alone, branch, nested, until, arrays):
    register(program)
