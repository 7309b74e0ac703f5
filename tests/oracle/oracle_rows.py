"""Reductions along rows of matrices."""

from futdata import wrap
from registry import oracle

ROWS = "tests/programs/features/rows.fut"
FAILING = "tests/programs/failures/rows.fut"
BENCH = "bench/programs/rows.fut"


def small(i, j):
    return (i * 7919 + j * 104729) % 1009 - 504


def matrix(n, m, f=lambda x: x):
    return [[f(small(i, j)) for j in range(m)] for i in range(n)]


@oracle(ROWS, "[]f64", "[]f32", "[]f32", "[]i64")
def sums(n, m):
    xss, yss = matrix(n, m, lambda x: x / 4), matrix(n, m, lambda x: x / 2)
    both = []
    for xs in xss:
        a, b = 0, 1
        for x in map(int, xs):
            a, b = a + x, wrap(b * (2 * x + 1), "i64")
        both.append(a ^ b)
    greatest = [max(ys, default=float("-inf")) for ys in yss]
    return [sum(xs, 0.0) for xs in xss], [sum(ys, 0.0) for ys in yss], greatest, both


@oracle(ROWS, "[]f32", "[]i64")
def argmax(n, m):
    xss = matrix(n, m)
    return [float(max(xs)) for xs in xss], [xs.index(max(xs)) for xs in xss]


@oracle(ROWS, "[]i32", "[]i32")
def compose(n, m):
    results = []
    for xs in matrix(n, m):
        a, b = 1, 0
        for x in xs:
            a, b = wrap(a * (2 * x + 1), "i32"), wrap(b * (2 * x + 1) + x, "i32")
        results.append((a, b))
    return [a for a, _ in results], [b for _, b in results]


@oracle(ROWS, "[]f64", "[]f64")
def products(n, m):
    xss = matrix(n, m)
    right, left = [small(j, 1) for j in range(m)], [small(i, 2) for i in range(n)]
    along = [float(sum(x * v for x, v in zip(xs, right))) for xs in xss]
    across = [float(sum(xss[i][j] * left[i] for i in range(n))) for j in range(m)]
    return along, across


@oracle(ROWS, "[]i64", "[]f32")
def mixed(n, m, k):
    lows = [min(xs) * 1000 + max(xs) for xs in matrix(n, m)]
    return lows, [float(3 * sum(ys)) for ys in matrix(n, k)]


@oracle(FAILING, "[]f32")
def picked(n, m, bad):
    del bad
    return [float(sum(3 * ((i * m + j) % 100) for j in range(m))) for i in range(n)]


@oracle(BENCH, "[]f64")
def row_sums(xss):
    return [sum(xs) for xs in xss]


@oracle(BENCH, "[]f64")
def row_maxima(xss):
    return [max(xs) for xs in xss]


@oracle(BENCH, "[]f64")
def column_sums(xss):
    return [sum(xs) for xs in zip(*xss)]


@oracle(BENCH, "[]f64")
def matrix_vector(xss, v):
    return [sum(x * y for x, y in zip(xs, v)) for xs in xss]
