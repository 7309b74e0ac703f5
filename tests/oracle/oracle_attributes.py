"""Attributes: unspecified values, unrolled loops, and others that change code."""

from itertools import accumulate

from futdata import wrap
from registry import oracle

HERE = "tests/programs/features/attributes.fut"


@oracle(HERE, "[]i64")
def padded(xs, m):
    return [xs[i] if i < len(xs) else (xs[0] if len(xs) else 0) for i in range(m)]


@oracle(HERE, "[]i32", "[]f32")
def reordered(xs):
    back = list(reversed(list(xs)))
    return back, [x / 2 for x in back]


@oracle(HERE, "[][]i64")
def rows(n, m):
    return [[10 * i + j for j in range(m)] for i in range(n)]


@oracle(HERE, "i32")
def horner(xs, x):
    y = 0
    for c in xs:
        y = y * x + c
    return y


@oracle(HERE, "[]i64", "i64")
def grown(n):
    xs = list(range(n))
    for i in range(2):
        xs = xs + [x + i for x in xs]
    total = n
    for i in range(4):
        for j in range(i):
            total += i * j + (1 if j == 0 else 0)
    return xs, total


@oracle(HERE, "i32")
def checked(xs):
    return sum(xs[i] for i in range(3))


@oracle(HERE, *["[]i32"] * 4, "i32")
def in_order(xss):
    sums = [wrap(sum(xs), "i32") for xs in xss]
    return sums, sums, sums, sums, sum(sums)


@oracle(HERE, *["[]i64"] * 4)
def placed(places):
    counted = [(k + 1) * places.count(k) for k in range(3)]
    written = [7 if k in places else 0 for k in range(3)]
    sums = accumulate(2 if i == 0 else min(i, 2) for i in places)
    return counted, counted, written, [s - 2 for s in sums]


@oracle(HERE, "i32")
def unchecked(xs):
    a = xs[0] * xs[1]
    b = a * (a + 3)
    return (b * b - a) * (xs[0] - xs[1])
