"""Mathematical functions of constants, in loops, reductions, nests and histograms."""

import math

from registry import oracle

PROGRAM = "tests/programs/features/mathematical_functions.fut"


@oracle(PROGRAM, "f64", "f64", "f64", "f64", "f64", "f64")
def constants(x, y):
    return (
        math.e + math.sin(0.5) * x,
        x * x + x,
        y**3 - 2**y,
        math.sqrt(y),
        y**x,
        math.atan2(1, y) + math.hypot(y, 4),
    )


@oracle(PROGRAM, "f64", "f64")
def loops(x, y, n):
    s = 0.0
    for i in range(n):
        s = s * math.cos(x) + math.sin(y) * i + math.exp(s - 9)
    return s, 2 * math.sin(y)


@oracle(PROGRAM, "f32", "f32", "[]f32")
def reductions(xs):
    sums, s = [], 0.0
    for x in xs:
        s += math.tanh(x) + x ** (1 / 3)
        sums.append(s)
    damped = [math.exp(-x) * math.sin(x) for x in xs]
    return sum(map(math.log1p, xs)), max([0.0, *damped]), sums


@oracle(PROGRAM, "[]f64", "[]f64")
def nests(xs, ks):
    rows = [sum(math.sin(x * i) for i in range(4)) * math.exp(-x) for x in xs]
    return rows, [sum(math.log(x + i) for i in range(k)) for x, k in zip(xs, ks)]


@oracle(PROGRAM, "[]f64")
def bins(xs, indices):
    result = [0.0, 0.0]
    for x, i in zip(xs, indices):
        if 0 <= i < 2:
            result[i] += math.gamma(x) + math.erf(x)
    return result


@oracle(PROGRAM, "f64")
def checked(xs, i):
    y = math.acos(xs[i] / 2)
    return math.lgamma(y + math.asin(xs[i - 1])) if i > 0 else math.log10(y)
