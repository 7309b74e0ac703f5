"""Scans of segments of all lengths."""

from itertools import accumulate

from futdata import wrap
from registry import oracle

HERE = "tests/programs/features/segmented_scans.fut"


def value(i):
    return (((i * 7919 + 13) ^ (i >> 3)) % 1009) - 500


def matrix(i):
    x = value(i)
    return (x, 1, x ^ 3, x + 2)


def product(a, b):
    rows, columns = (a[:2], a[2:]), (b[::2], b[1::2])
    cells = (sum(x * y for x, y in zip(row, column)) for row in rows for column in columns)
    return tuple(wrap(cell, "i32") for cell in cells)


def weigh(xs):
    return wrap(sum(x * (2 * i + 1) for i, x in enumerate(xs)), "i32")


def segments(m, n, of):
    return [[of(i * n + j) for j in range(n)] for i in range(m)]


@oracle(HERE, "i32", "i32", "i32", "i32")
def matrices(m, n):
    scanned = [x for row in segments(m, n, matrix) for x in accumulate(row, product)]
    return tuple(weigh([x[k] for x in scanned]) for k in range(4))


@oracle(HERE, "i32", "i32")
def post_lambdas(m, n):
    ys, zs = [], []
    for row in segments(m, n, value):
        ys += [wrap((s * 3) ^ x, "i32") for s, x in zip(accumulate(row), row)]
        zs += [s - x for s, x in zip(accumulate(row, max), row)]
    return weigh(ys), weigh(zs)


@oracle(HERE, "i32", "i32", "i32")
def kinds(n):
    xs = [value(i) for i in range(n)]
    # The remainder has the sign of the divisor.
    some = [x for x in xs if x % 3 == 0]
    rest = [x for x in xs if x % 3 != 0]
    sums, most = list(accumulate(xs)), list(accumulate(xs, max))
    return wrap(weigh(some) - weigh(rest), "i32"), weigh(sums), weigh(most)


@oracle(HERE, "i64", "i64", "i64")
def wide(m, n):
    def heavy(rows):
        return wrap(sum(x * (2 * i + 1) for i, x in enumerate(x for row in rows for x in row)), "i64")

    rows = segments(m, n, lambda i: value(i) * 2**23)
    sums = [accumulate(row) for row in rows]
    tops = [
        [a ^ b for a, b in zip(accumulate(row, max), accumulate((x // 2**20 for x in row), lambda a, b: a ^ b))]
        for row in rows
    ]
    least = [accumulate((wrap(x * x - 8 * x, "i64") for x in row), min) for row in rows]
    return heavy(sums), heavy(tops), heavy(least)


@oracle(HERE, "i32")
def checked(n, limit):
    return weigh(list(accumulate(i % 3 for i in range(n))))
